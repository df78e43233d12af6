//! Commands that only read and append rows share one transaction, its round trips and its WAL flush, by [`GroupCommit`].
//!
//! Each command keeps its own promises. It gets an [`AppendTx`], so it cannot write into the shared transaction. A
//! command that is rejected, is refused or panics is left out of the commit. If the group's transaction fails, the
//! group is rolled back and its halves run apart, down to single commands. So one bad row fails one command only.

mod command;
mod transaction;

use std::sync::Arc;

use database::{AppendTx, Database, Error, GroupCommit, GroupSettings, Handler};

use self::command::QueuedCommand;
use self::transaction::GroupTransaction;
use crate::metrics::IdempotencyMetrics;
use crate::replay_cache::outcome_from_memory;
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// Executes commands in groups. Cloning is cheap; all clones share the queue.
#[derive(Clone)]
pub struct GroupExecutor {
    database: Database,
    groups: GroupCommit<QueuedCommand>,
}

impl GroupExecutor {
    /// Groups of commands of this database.
    pub fn new(database: Database, retention: Retention, settings: GroupSettings) -> Self {
        let of_group = GroupTransaction { database: database.clone(), retention, wait: settings.wait };
        let transaction = Arc::new(of_group);
        let groups = GroupCommit::new(database.clone(), settings, move |commands: Vec<QueuedCommand>| {
            let transaction = Arc::clone(&transaction);
            let waits = commands.iter().map(|command| command.queued_at.elapsed());
            transaction.database.metrics::<IdempotencyMetrics>().group_taken(waits);
            async move { transaction.run(commands).await }
        });
        Self { database, groups }
    }

    /// Executes a request, unless its key was used before. It promises the same as [`execute`](crate::execute), for a
    /// command that only needs an [`AppendTx`].
    ///
    /// `command` may run more than once, so it must not keep state between runs.
    ///
    /// # Errors
    /// As [`execute`](crate::execute); [`Error::Unavailable`] at once if the queue is full, and after
    /// [`GroupSettings::wait`] if no group has taken the command.
    pub async fn execute<F>(&self, request: KeyedRequest, command: F) -> Result<Outcome, Error>
    where
        F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
    {
        if let Some(outcome) = outcome_from_memory(&self.database, &request) {
            return outcome;
        }
        let (command, outcome) = QueuedCommand::new(&self.database, request, command);
        let executed = self.groups.execute(command, outcome).await;
        executed.inspect_err(|_| self.database.metrics::<IdempotencyMetrics>().count_failed())?
    }
}
