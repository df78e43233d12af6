//! `Queue`: the commands that wait for a group. `GroupSlot`: the right to run one group after the other.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use database::{Database, Error};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::GroupSettings;
use super::command::QueuedCommand;
use super::transaction::GroupTransaction;
use crate::metrics::IdempotencyMetrics;
use crate::{Outcome, Retention};

/// The number of a command in the order of arrival.
type Ticket = u64;

pub(super) struct Queue {
    database: Database,
    retention: Retention,
    settings: GroupSettings,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Ticket, QueuedCommand)>,
    next_ticket: Ticket,
    slots_in_use: usize,
}

impl Queue {
    pub(super) fn new(database: Database, retention: Retention, settings: GroupSettings) -> Self {
        Self { database, retention, settings, state: Mutex::default() }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Queues the command and waits for its outcome, but in the queue no longer than [`GroupSettings::wait`].
    pub(super) async fn run(
        self: &Arc<Self>,
        command: QueuedCommand,
        mut outcome: oneshot::Receiver<Result<Outcome, Error>>,
    ) -> Result<Outcome, Error> {
        let ticket = self.push(command)?;
        let outcome = match timeout(self.settings.wait, &mut outcome).await {
            Ok(outcome) => outcome,
            Err(_) if self.withdraw(ticket) => {
                return Err(self.refusal("the command waited too long for a commit".to_owned()));
            }
            // Its group is running, and the deadline of each statement bounds the group.
            Err(_) => outcome.await,
        };
        outcome.map_err(|_| Error::Panicked)?
    }

    /// Appends the command to the queue, and starts a group if a slot is free.
    fn push(self: &Arc<Self>, command: QueuedCommand) -> Result<Ticket, Error> {
        let mut state = self.state();
        let waiting = state.waiting.len();
        if waiting >= self.settings.waiting {
            return Err(self.refusal(format!("the queue is full: {waiting} commands wait for a commit")));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, command));
        if state.slots_in_use < self.settings.at_once {
            state.slots_in_use += 1;
            drop(state);
            let slot = GroupSlot { queue: Arc::clone(self), is_returned: false };
            // A task of its own, so that a client that disconnects does not stop the group.
            self.database.spawn(slot.run_groups());
        }
        Ok(ticket)
    }

    /// Takes the command out of the queue. Returns false if a group has taken it.
    fn withdraw(&self, ticket: Ticket) -> bool {
        let mut state = self.state();
        let place = state.waiting.binary_search_by_key(&ticket, |(ticket, _)| *ticket);
        place.is_ok_and(|place| state.waiting.remove(place).is_some())
    }

    /// The error of a command that no group takes. Counts it.
    fn refusal(&self, why: String) -> Error {
        self.database.metrics::<IdempotencyMetrics>().count_failed();
        Error::Unavailable(why)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is safe to use: no code that can panic runs between two related changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the [`GroupSettings::at_once`] slots.
struct GroupSlot {
    queue: Arc<Queue>,
    is_returned: bool,
}

impl GroupSlot {
    async fn run_groups(mut self) {
        while let Some(group) = self.next_group() {
            let Queue { database, retention, settings, .. } = &*self.queue;
            let transaction = GroupTransaction { database, retention: *retention, wait: settings.wait };
            // The callers of this group see a panic as a closed channel. The loop continues for all others.
            if AssertUnwindSafe(transaction.run(group)).catch_unwind().await.is_err() {
                tracing::error!("a group of commands panicked; its transaction was rolled back");
            }
        }
    }

    /// Takes the commands that have waited longest. Returns the slot and `None` if the queue is empty.
    fn next_group(&mut self) -> Option<Vec<QueuedCommand>> {
        let mut state = self.queue.state();
        let number = state.waiting.len().min(self.queue.settings.size);
        let group: Vec<QueuedCommand> = state.waiting.drain(..number).map(|(_, command)| command).collect();
        if group.is_empty() {
            // Under the same lock that saw the empty queue, so that the next command sees the free slot.
            state.slots_in_use -= 1;
            drop(state);
            self.is_returned = true;
            return None;
        }
        drop(state);
        let metrics: &IdempotencyMetrics = self.queue.database.metrics();
        metrics.group_taken(group.iter().map(|command| command.queued_at.elapsed()));
        Some(group)
    }
}

impl Drop for GroupSlot {
    fn drop(&mut self) {
        if !self.is_returned {
            self.queue.state().slots_in_use -= 1;
        }
    }
}
