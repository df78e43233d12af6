//! Group commit: commands that only add rows share one transaction, and so its round trips and its flush of the log.
//!
//! Nobody waits for a group to fill. A command that finds fewer than [`GroupSettings::at_once`] groups under way begins
//! one; the others wait until one has ended, and go together. So an idle service answers as fast as it can, and a busy
//! one does more with each commit.
//!
//! Each command keeps what it was promised alone: it gets a [`AppendTx`], with which it can read and note rows but not
//! write. Whoever is rejected, refused or panics is left out, and has touched nothing of the others. If the group itself
//! fails, it is undone as a whole and each of its commands is carried out by itself, so that one bad row is the fault of
//! one.
//!
//! The idea is the database's own: see `commit_delay` in PostgreSQL's documentation.

mod member;
mod queue;
mod unit;

use std::sync::Arc;
use std::time::Duration;

use database::{AppendTx, Database, Error, Handler};

use self::member::Member;
use self::queue::Queue;
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// How large, how many, how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSettings {
    /// The most commands that share a commit.
    pub size: usize,
    /// The most groups that are under way; each holds a connection.
    pub at_once: usize,
    /// The most commands that may wait for their group; whoever comes then is told that the service is overloaded.
    pub waiting: usize,
    /// The longest that a command may wait for its group; then it is told so as well.
    pub wait: Duration,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self { size: 64, at_once: 2, waiting: 1_024, wait: Duration::from_secs(1) }
    }
}

/// Carries out commands that only add rows, many in one commit. Cheap to clone; all clones share the groups.
#[derive(Clone)]
pub struct GroupCommit {
    queue: Arc<Queue>,
}

impl GroupCommit {
    /// Groups of this database's commands.
    pub fn new(database: Database, retention: Retention, settings: GroupSettings) -> Self {
        Self { queue: Arc::new(Queue::new(database, retention, settings)) }
    }

    /// Carries an intent out, unless that was done before: what [`execute`](crate::execute) promises, for a command that
    /// needs no more than a [`AppendTx`].
    ///
    /// `command` may run more than once, and must not remember.
    ///
    /// # Errors
    /// As [`execute`](crate::execute); [`Error::Unavailable`] at once if too many wait already.
    pub async fn execute<F>(&self, intent: KeyedRequest, command: F) -> Result<Outcome, Error>
    where
        F: Handler<AppendTx, Operation, Result<StoredResponse, CommandError>>,
    {
        tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "IdempotencyKeyReceived");
        let (member, answer) = Member::new(intent, command);
        self.queue.join(member)?;
        answer.await.map_err(|_| Error::Panicked)?
    }
}
