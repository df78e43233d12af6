//! `payments review`: lists and shows reviews. `resolve` is in `resolve_review`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use database::{Database, Result};
use operators::{CommandOutput, Read, Report, query};
use serde_json::json;
use uuid::Uuid;

use super::resolve_review::{Resolve, not_found};
use crate::context::Context;
use crate::transitions::TransitionError;

const REVIEWS: &str = include_str!("reviews.sql");

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

    pub(super) async fn run(self, context: &Context) -> std::result::Result<CommandOutput, TransitionError> {
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
    #[command(flatten)]
    read: Read,
}

/// The members in the text of the list. The JSON has all.
const LISTED: &[&str] =
    &["review_id", "reason", "subject", "subject_id", "tenant", "opened_at", "resolution"];

impl List {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let which = json!({ "all": self.all, "limit": self.limit });
        let reviews = query(&mut database.connection().await?, REVIEWS, &which).await?;
        let listing = BTreeMap::from([("reviews", reviews)]);
        Ok(self.read.output_with(true, &listing, |listing| match &listing["reviews"][..] {
            [] => "no review is open\n".to_owned(),
            reviews => Report::table(&reviews.iter().map(|review| review.only(LISTED)).collect::<Vec<_>>()),
        }))
    }
}

/// The arguments of `show`.
#[derive(Debug, Args)]
pub struct Show {
    /// The review
    review_id: Uuid,
    #[command(flatten)]
    read: Read,
}

impl Show {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let which = json!({ "review_id": self.review_id, "all": true });
        let found = query(&mut database.connection().await?, REVIEWS, &which).await?;
        let [review] = &found[..] else { return Ok(not_found(self.review_id)) };
        Ok(self.read.output(true, "", review))
    }
}
