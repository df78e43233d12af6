//! `GroupCommit`: pieces of work that arrive while a transaction commits share the next one.
//!
//! No work waits for a group to fill. A piece of work starts a group if fewer than [`GroupSettings::at_once`] groups are
//! running; otherwise it waits, and all waiting work forms the next group. So an idle process commits at once, and a busy one
//! commits more work with each transaction.
//!
//! Source of the idea: `commit_delay` in PostgreSQL's documentation.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::{Database, Error, Gather, Result};

/// Limits of groups and of their queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSettings {
    /// The largest number of pieces of work in one group.
    pub size: usize,
    /// The largest number of groups that run at the same time. Each holds a connection.
    pub at_once: usize,
    /// The largest number of pieces of work in the queue. Further ones get [`Error::Unavailable`] at once.
    pub waiting: usize,
    /// The longest time in the queue. After that the work gets [`Error::Unavailable`].
    pub wait: Duration,
    /// Under load, groups start so long after each other.
    pub gather: Duration,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self { size: 64, at_once: 2, waiting: 1_024, wait: Duration::from_secs(1), gather: Duration::ZERO }
    }
}

/// Runs one group in a transaction, and sends the result of each piece of work.
type RunGroup<W> = Box<dyn Fn(Vec<W>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Runs work in groups. Cloning is cheap; all clones share the queue.
pub struct GroupCommit<W>(Arc<Queue<W>>);

struct Queue<W> {
    database: Database,
    settings: GroupSettings,
    run: RunGroup<W>,
    state: Mutex<State<W>>,
}

/// The number of a piece of work in the order of arrival.
type Ticket = u64;

struct State<W> {
    waiting: VecDeque<(Ticket, W)>,
    next_ticket: Ticket,
    slots_in_use: usize,
    gather: Gather,
}

impl<W: Send + 'static> GroupCommit<W> {
    /// Groups of work for this database. `run` runs one group, and sends the result of each piece of work.
    pub fn new<F>(
        database: Database,
        settings: GroupSettings,
        run: impl Fn(Vec<W>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let gather = Gather::new(settings.gather);
        let state = State { waiting: VecDeque::new(), next_ticket: 0, slots_in_use: 0, gather };
        let run: RunGroup<W> = Box::new(move |group| run(group).boxed());
        Self(Arc::new(Queue { database, settings, run, state: Mutex::new(state) }))
    }

    /// Queues the work and waits for its result, but in the queue no longer than [`GroupSettings::wait`]. The work contains the
    /// sender of `result`. If the caller is cancelled, its work may still be committed.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no group takes the work, and [`Error::Panicked`] if its group ends without sending a result.
    pub async fn execute<R>(&self, work: W, mut result: oneshot::Receiver<R>) -> Result<R> {
        let ticket = self.push(work)?;
        let result = match timeout(self.0.settings.wait, &mut result).await {
            Ok(result) => result,
            Err(_) if self.0.withdraw(ticket) => {
                return Err(Error::Unavailable("the command waited too long for a commit".to_owned()));
            }
            // Its group is running, and the deadline of each statement bounds the group.
            Err(_) => result.await,
        };
        result.map_err(|_| Error::Panicked)
    }

    /// Appends the work to the queue, and starts a group if a slot is free.
    fn push(&self, work: W) -> Result<Ticket> {
        let mut state = self.0.state();
        let waiting = state.waiting.len();
        if waiting >= self.0.settings.waiting {
            let why = format!("the queue is full: {waiting} commands wait for a commit");
            return Err(Error::Unavailable(why));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        state.waiting.push_back((ticket, work));
        if state.slots_in_use < self.0.settings.at_once {
            state.slots_in_use += 1;
            drop(state);
            let slot = GroupSlot { queue: Arc::clone(&self.0), is_returned: false };
            // A task of its own, so that a client that disconnects does not stop the group.
            self.0.database.spawn(slot.run_groups());
        }
        Ok(ticket)
    }
}

impl<W> Queue<W> {
    /// Takes the work out of the queue. Returns false if a group has taken it.
    fn withdraw(&self, ticket: Ticket) -> bool {
        let mut state = self.state();
        let place = state.waiting.binary_search_by_key(&ticket, |(ticket, _)| *ticket);
        place.is_ok_and(|place| state.waiting.remove(place).is_some())
    }

    fn state(&self) -> MutexGuard<'_, State<W>> {
        // A poisoned lock is safe to use: no code that can panic runs between two related changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W> Clone for GroupCommit<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// One of the [`GroupSettings::at_once`] slots: the right to run one group after the other.
struct GroupSlot<W> {
    queue: Arc<Queue<W>>,
    is_returned: bool,
}

impl<W> GroupSlot<W> {
    async fn run_groups(mut self) {
        loop {
            let gather = self.queue.state().gather.clone();
            gather.wait().await;
            let Some(group) = self.next_group() else { return };
            // The callers of this group see a panic as a closed channel. The loop continues for all others.
            if AssertUnwindSafe((self.queue.run)(group)).catch_unwind().await.is_err() {
                tracing::error!("a group panicked; its transaction was rolled back");
            }
        }
    }

    /// Takes the work that has waited longest. Returns the slot and `None` if the queue is empty.
    fn next_group(&mut self) -> Option<Vec<W>> {
        let mut state = self.queue.state();
        let number = state.waiting.len().min(self.queue.settings.size);
        if number == 0 {
            // Under the same lock that saw the empty queue, so that the next work sees the free slot.
            state.slots_in_use -= 1;
            drop(state);
            self.is_returned = true;
            return None;
        }
        state.gather.started(Instant::now(), number);
        Some(state.waiting.drain(..number).map(|(_, work)| work).collect())
    }
}

impl<W> Drop for GroupSlot<W> {
    fn drop(&mut self) {
        if !self.is_returned {
            self.queue.state().slots_in_use -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{join, join_all};
    use testkit::eventually;
    use tokio::runtime::Handle;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::Settings;

    /// Work that waits at a gate, and the sizes of the groups so far.
    struct Stage {
        gate: Semaphore,
        sizes: Mutex<Vec<usize>>,
    }

    type Work = (u32, oneshot::Sender<u32>);

    impl Stage {
        /// Multiplies by ten; fails if there is a zero.
        async fn run(self: Arc<Self>, group: Vec<Work>) {
            self.sizes.lock().unwrap().push(group.len());
            self.gate.acquire().await.unwrap().forget();
            if group.iter().all(|(number, _)| *number > 0) {
                for (number, sender) in group {
                    sender.send(number * 10).unwrap();
                }
            }
        }
    }

    async fn execute(groups: &GroupCommit<Work>, number: u32) -> Option<u32> {
        let (sender, result) = oneshot::channel();
        groups.execute((number, sender), result).await.ok()
    }

    /// Executes a number, and the others while the first waits at the gate.
    async fn results(first: u32, others: [u32; 3]) -> (Option<u32>, Vec<Option<u32>>, Vec<usize>) {
        let stage = Arc::new(Stage { gate: Semaphore::new(0), sizes: Mutex::default() });
        let settings = GroupSettings { at_once: 1, ..GroupSettings::default() };
        let database = Database::new(&Settings::new("postgres://127.0.0.1:1".to_owned()), Handle::current());
        let run = Arc::clone(&stage);
        let groups = GroupCommit::new(database.unwrap(), settings, move |group| Arc::clone(&run).run(group));
        let others = async {
            eventually("a group at the gate", async || {
                (stage.sizes.lock().unwrap().len() == 1).then_some(())
            })
            .await;
            let all_wait = async {
                let waiting = async || (groups.0.state().waiting.len() == 3).then_some(());
                eventually("work that waits", waiting).await;
                stage.gate.add_permits(2);
            };
            join(join_all(others.map(|number| execute(&groups, number))), all_wait).await.0
        };
        let (first, products) = join(execute(&groups, first), others).await;
        let sizes = stage.sizes.lock().unwrap().clone();
        (first, products, sizes)
    }

    #[tokio::test]
    async fn work_that_arrives_while_a_group_commits_shares_the_next_transaction() {
        let (first, others, sizes) = results(1, [2, 3, 4]).await;
        assert_eq!((first, others), (Some(10), vec![Some(20), Some(30), Some(40)]));
        assert_eq!(sizes, [1, 3]);
    }

    #[tokio::test]
    async fn work_whose_transaction_failed_is_returned_to_its_tasks() {
        let (first, others, _) = results(1, [2, 0, 4]).await;
        assert_eq!((first, others), (Some(10), vec![None; 3]));
    }
}
