//! `review show`: everything that is known of one question, and what may be answered.

use clap::Args;
use database::{Database, Result};
use runtime::{CommandOutput, table};
use uuid::Uuid;

use super::view::View;
use crate::store::reviews;

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The review
    review_id: Uuid,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut connection = database.connection().await?;
        let Some(row) = reviews::find(&mut connection, self.review_id).await? else {
            return Ok(super::there_is_none(self.review_id));
        };
        let view = View::of(&row)?;
        Ok(CommandOutput::new(self.json, true, &view, |view| {
            let rows = view.more_facts().into_iter().map(|(name, value)| vec![name.to_owned(), value]);
            table::table(&[], &rows.collect::<Vec<_>>())
        }))
    }
}
