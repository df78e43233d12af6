//! The time of each audit.

use std::time::Instant;

use ::audits::ALL;
use diesel_async::{AsyncConnection, AsyncPgConnection};

use super::ground::Ground;
use crate::report::{Ratio, Section, Table, number};
use harness::{Context, Error, Part, Result};

/// Runs each audit of a database. A violation ends the run, because the rows are made to have none.
pub(super) async fn measure(
    ground: &Ground<'_>,
    part: Part,
    rows: &str,
    section: &mut Section,
) -> Result<()> {
    let url = &ground.database.owner_url;
    let mut connection = AsyncPgConnection::establish(url).await.context("connect to PostgreSQL")?;
    let name = part.name();
    let mut table = Table::new(format!("Audits of {name}, {rows}, ten facts each"), ["audit", "seconds"]);
    let mut slowest = 0.0_f64;
    for question in
        ALL.iter().filter(|question| question.of.iter().any(|database| Part::from(*database) == part))
    {
        let start = Instant::now();
        let found = question.ask(&mut connection).await.context(format!("ask {}", question.file))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("growth: {}: {seconds:.2} s", question.file);
        if let Some(first) = found.first() {
            return Err(Error::Refused(format!("{}: {} rows, such as: {first}", question.file, found.len())));
        }
        slowest = slowest.max(seconds);
        table.row([question.file.to_owned(), number(seconds, 2)]);
        section.figure(format!("growth.audit.{name}.{}", question.file), seconds);
    }
    section.ratios.push(Ratio::at_most(format!("slowest audit of {name}, seconds"), slowest, 60.0));
    section.tables.push(table);
    Ok(())
}
