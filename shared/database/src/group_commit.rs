//! `GroupCommit`: pieces of work that arrive while a transaction commits share the next one.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Gather;

/// Work that waits for its transaction, of the tasks of one process.
///
/// The first task whose turn it is executes all that waits, its own work among it, and passes the results on. If that fails,
/// each task executes its work alone, so that one piece of work cannot keep the others back.
#[derive(Debug)]
pub struct GroupCommit<W, R> {
    waiting: Mutex<Vec<(W, oneshot::Sender<R>)>>,
    turn: tokio::sync::Mutex<Gather>,
}

impl<W, R> GroupCommit<W, R> {
    /// Under load, transactions start so long after each other.
    pub fn new(gather: Duration) -> Self {
        Self { waiting: Mutex::default(), turn: tokio::sync::Mutex::new(Gather::new(gather)) }
    }

    /// Executes the work with all other work that waits. `execute` commits all of it and returns the results in order, or commits
    /// none of it and returns `None`.
    ///
    /// Returns `None` if the work was not committed. The caller then executes it alone.
    pub async fn execute<F>(&self, work: W, execute: impl FnOnce(Vec<W>) -> F) -> Option<R>
    where
        F: Future<Output = Option<Vec<R>>>,
    {
        let (sender, mut result) = oneshot::channel();
        self.waiting().push((work, sender));
        let mut turn = tokio::select! {
            biased;
            result = &mut result => return result.ok(),
            turn = self.turn.lock() => turn,
        };
        turn.wait().await;
        let (group, senders): (Vec<W>, Vec<_>) = take(&mut *self.waiting()).into_iter().unzip();
        if !group.is_empty() {
            turn.started(Instant::now(), group.len());
            for (sender, result) in senders.into_iter().zip(execute(group).await.unwrap_or_default()) {
                let _ = sender.send(result); // its task may have ended
            }
        }
        drop(turn);
        result.await.ok()
    }

    /// A poisoned lock is safe to use: each update is a single push or take.
    fn waiting(&self) -> MutexGuard<'_, Vec<(W, oneshot::Sender<R>)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
