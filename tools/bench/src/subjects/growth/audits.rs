//! The time of each audit.

use std::time::Instant;

use ::audits::{Database, Question, all};
use diesel_async::{AsyncConnection, AsyncPgConnection};

use super::ground::Ground;
use crate::report::Section;
use harness::{Context, Error, Part, Result};

/// Runs each audit of a database. A violation ends the run, because the rows are made to have none.
pub(super) async fn measure(ground: &Ground<'_>, part: Part, section: &mut Section) -> Result<()> {
    let url = &ground.database.owner_url;
    let mut connection = AsyncPgConnection::establish(url).await.context("connect to PostgreSQL")?;
    let (name, mut slowest) = (part.name(), 0.0_f64);
    let asked = |question: &Question| {
        Database::all().any(|database| Part::from(database) == part && question.is_asked_of(database))
    };
    for question in all().filter(asked) {
        let start = Instant::now();
        let found = question.ask(&mut connection).await.context(format!("ask {}", question.file))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("growth: {}: {seconds:.2} s", question.file);
        if let Some(first) = found.first() {
            return Err(Error::Refused(format!("{}: {} rows, such as: {first}", question.file, found.len())));
        }
        slowest = slowest.max(seconds);
        section.figure(format!("growth.audit.{name}.{}_s", question.file), seconds);
    }
    section.at_most(format!("growth.slowest_audit_of_{name}_s"), slowest, 60.0);
    Ok(())
}
