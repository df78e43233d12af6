//! Group commit: commands that only read and append rows share one transaction, its round trips and its WAL flush.
//!
//! No command waits for a group to fill. A command starts a group if fewer than [`GroupSettings::at_once`] groups are
//! running; otherwise it waits, and all waiting commands form the next group. So an idle service answers at once, and a
//! busy service commits more commands with each transaction.
//!
//! Each command keeps its own promises. It gets an [`AppendTx`], so it cannot write into the shared transaction. A
//! command that is rejected, is refused or panics is left out of the commit. If the group's transaction fails, the
//! group is rolled back and its halves run apart, down to single commands. So one bad row fails one command only.
//!
//! Source of the idea: `commit_delay` in PostgreSQL's documentation.

mod command;
mod queue;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use database::{AppendTx, Database, Error, Handler};

use self::command::QueuedCommand;
use self::queue::Queue;
use crate::replay_cache::outcome_from_memory;
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// Limits of groups and of their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSettings {
    /// The largest number of commands in one group.
    pub size: usize,
    /// The largest number of groups that run at the same time. Each holds a connection.
    pub at_once: usize,
    /// The largest number of commands in the queue. Further commands get [`Error::Unavailable`] at once.
    pub waiting: usize,
    /// The longest time in the queue. After that a command gets [`Error::Unavailable`].
    pub wait: Duration,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self { size: 64, at_once: 2, waiting: 1_024, wait: Duration::from_secs(1) }
    }
}

/// Executes commands in groups. Cloning is cheap; all clones share the queue.
#[derive(Clone)]
pub struct GroupCommit {
    queue: Arc<Queue>,
}

impl GroupCommit {
    /// Groups of commands of this database.
    pub fn new(database: Database, retention: Retention, settings: GroupSettings) -> Self {
        Self { queue: Arc::new(Queue::new(database, retention, settings)) }
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
        if let Some(outcome) = outcome_from_memory(self.queue.database(), &request) {
            return outcome;
        }
        let (command, outcome) = QueuedCommand::new(self.queue.database(), request, command);
        self.queue.run(command, outcome).await
    }
}
