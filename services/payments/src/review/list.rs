//! `review list`: what waits for a person.

use clap::Args;
use database::{Database, Result};
use runtime::{CommandOutput, table};
use serde::Serialize;

use super::view::View;
use crate::store::reviews;

/// The arguments.
#[derive(Debug, Args)]
pub struct List {
    /// Those that people have answered, too
    #[arg(long)]
    all: bool,
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    reviews: Vec<View>,
}

impl List {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut connection = database.connection().await?;
        let rows = reviews::list(&mut connection, self.all, self.limit.into()).await?;
        let report = Report { reviews: rows.iter().map(View::of).collect::<Result<_>>()? };
        Ok(CommandOutput::new(self.json, true, &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        if self.reviews.is_empty() {
            return "nothing waits for a person\n".to_owned();
        }
        let facts: Vec<_> = self.reviews.iter().map(View::facts).collect();
        let heading: Vec<&str> = facts.iter().take(1).flatten().map(|(name, _)| *name).collect();
        let rows = facts.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
        table::table(&heading, &rows.collect::<Vec<Vec<String>>>())
    }
}
