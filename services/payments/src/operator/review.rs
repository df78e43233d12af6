//! `payments review`: lists and shows reviews. `resolve` is in `resolve_review`.

use clap::{Args, Subcommand};
use database::{Database, Result};
use runtime::{CommandOutput, Context, table};
use serde::Serialize;
use uuid::Uuid;

use super::resolve_review::{Resolve, not_found};
use super::review_view::ReviewView;
use crate::Payments;
use crate::store::reviews;
use crate::transitions::TransitionError;

/// The commands below `payments review`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the open reviews, the oldest first
    List(List),
    /// Show everything about one review
    Show(Show),
    /// Resolve a review: say what happened to the money
    Resolve(Resolve),
}

impl Command {
    /// Returns whether the command reads an object of the processor.
    pub(super) fn asks_processor(&self) -> bool {
        matches!(self, Self::Resolve(resolve) if resolve.refund.is_some())
    }

    pub(super) fn only_reads(&self) -> bool {
        matches!(self, Self::List(_) | Self::Show(_))
    }

    pub(super) async fn run(
        self,
        context: &Context<Payments>,
    ) -> std::result::Result<CommandOutput, TransitionError> {
        match self {
            Self::List(list) => Ok(list.run(&context.database).await?),
            Self::Show(show) => Ok(show.run(&context.database).await?),
            Self::Resolve(resolve) => resolve.run(context).await,
        }
    }
}

/// The arguments of `list`.
#[derive(Debug, Args)]
pub struct List {
    /// List resolved reviews too
    #[arg(long)]
    all: bool,
    /// The greatest number of reviews to list
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listing {
    reviews: Vec<ReviewView>,
}

impl List {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut connection = database.connection().await?;
        let rows = reviews::list(&mut connection, self.all, self.limit.into()).await?;
        let listing = Listing { reviews: rows.iter().map(ReviewView::of).collect::<Result<_>>()? };
        Ok(CommandOutput::new(self.json, true, &listing, Listing::text))
    }
}

impl Listing {
    fn text(&self) -> String {
        if self.reviews.is_empty() {
            return "no review is open\n".to_owned();
        }
        let facts: Vec<_> = self.reviews.iter().map(ReviewView::summary).collect();
        let heading: Vec<&str> = facts.iter().take(1).flatten().map(|(name, _)| *name).collect();
        let rows = facts.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
        table::table(&heading, &rows.collect::<Vec<Vec<String>>>())
    }
}

/// The arguments of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The review
    review_id: Uuid,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut connection = database.connection().await?;
        let Some(row) = reviews::find(&mut connection, self.review_id).await? else {
            return Ok(not_found(self.review_id));
        };
        let view = ReviewView::of(&row)?;
        Ok(CommandOutput::new(self.json, true, &view, |view| {
            let rows = view.details().into_iter().map(|(name, value)| vec![name.to_owned(), value]);
            table::table(&[], &rows.collect::<Vec<_>>())
        }))
    }
}
