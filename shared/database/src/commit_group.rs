//! `CommitGroup`: pieces of work that arrive while a transaction commits share the next one.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Gather;

/// Work that waits for its transaction, of the tasks of one process.
///
/// The first task whose turn comes executes all work that waits, with its own, and passes the results on. If that fails,
/// each task executes its work alone, so that one piece of work cannot keep the others back.
#[derive(Debug)]
pub struct CommitGroup<W, R> {
    waiting: Mutex<Vec<(W, oneshot::Sender<R>)>>,
    turn: tokio::sync::Mutex<Gather>,
}

impl<W, R> CommitGroup<W, R> {
    /// Under load, transactions start so long after each other.
    pub fn new(gather: Duration) -> Self {
        Self { waiting: Mutex::default(), turn: tokio::sync::Mutex::new(Gather::new(gather)) }
    }

    /// Executes the work with all other work that waits. `execute` runs one transaction for all of it, and returns the results in
    /// order; `None` after an error.
    ///
    /// Returns `None` after an error of the transaction. The caller then executes its work alone. Because the outcome of a COMMIT
    /// may be unknown, the work must recognise that it has taken effect: by a fence, or by a stored response. If the caller is
    /// cancelled, its work may still be committed.
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

#[cfg(test)]
mod tests {
    use futures_util::future::{join, join_all};
    use testkit::eventually;
    use tokio::sync::Semaphore;

    use super::*;

    /// Work that waits at a gate, and the sizes of the groups so far.
    struct Stage {
        group: CommitGroup<u32, u32>,
        gate: Semaphore,
        sizes: Mutex<Vec<usize>>,
    }

    impl Stage {
        fn new() -> Self {
            Self { group: CommitGroup::new(Duration::ZERO), gate: Semaphore::new(0), sizes: Mutex::default() }
        }

        /// Multiplies by ten; fails if there is a zero.
        async fn execute(&self, number: u32) -> Option<u32> {
            let together = async |numbers: Vec<u32>| {
                self.sizes.lock().unwrap().push(numbers.len());
                self.gate.acquire().await.unwrap().forget();
                let products = numbers.iter().map(|number| number * 10).collect();
                (!numbers.contains(&0)).then_some(products)
            };
            self.group.execute(number, together).await
        }
    }

    /// Executes a number, and the others while the first waits at the gate.
    async fn results(first: u32, others: [u32; 3]) -> (Option<u32>, Vec<Option<u32>>, Vec<usize>) {
        let stage = Stage::new();
        let others = async {
            eventually("a group at the gate", async || {
                (stage.sizes.lock().unwrap().len() == 1).then_some(())
            })
            .await;
            let all_wait = async {
                eventually("work that waits", async || (stage.group.waiting().len() == 3).then_some(()))
                    .await;
                stage.gate.add_permits(2);
            };
            join(join_all(others.map(|number| stage.execute(number))), all_wait).await.0
        };
        let (first, products) = join(stage.execute(first), others).await;
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
