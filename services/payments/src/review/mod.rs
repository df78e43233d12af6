//! What no retry mends is put before people: once, however often it is noticed.

mod list;
mod resolve;
mod settle;
mod show;
mod view;

use clap::Subcommand;
use database::{Tx, UnitOfWork};
use runtime::{CommandOutput, Context};
use uuid::Uuid;

use crate::Payments;
use crate::advance::Fault;
pub(crate) use crate::domain::review::{Reason, Subject};
use crate::store::reviews;
pub(crate) use crate::store::reviews::NewReview;

/// Asks people to look, in the caller's transaction. While the same question is open it is not asked again.
pub(crate) async fn open(tx: &mut Tx, new: NewReview<'_>) -> database::Result<()> {
    if let Some(review) = reviews::insert(tx, &new).await? {
        let (subject, reason) = (new.subject.to_string(), new.reason.name());
        // What is not committed is nobody's concern.
        tx.after_commit(move || tracing::error!(%review, subject, reason, "ReviewOpened: people must look"));
    }
    Ok(())
}

/// The commands below `payments review`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what waits for a person, the oldest first
    List(list::List),
    /// Show everything about one of them
    Show(show::Show),
    /// Say what became of the money
    Resolve(resolve::Resolve),
}

impl Command {
    pub(crate) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, Fault> {
        match self {
            Self::List(list) => Ok(list.run(&context.database).await?),
            Self::Show(show) => Ok(show.run(&context.database).await?),
            Self::Resolve(resolve) => resolve.run(context).await,
        }
    }
}

fn there_is_none(review: Uuid) -> CommandOutput {
    CommandOutput { text: format!("there is no review {review}\n"), done: false }
}
