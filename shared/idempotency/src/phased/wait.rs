//! `Waiter`: waits for the outcome of an operation, without holding a connection.
//!
//! A conclusion in this process wakes the waiter at once. A conclusion in another process cannot, so the waiter also
//! reads the record at intervals. The record decides; the wake-up only saves time.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use database::{Database, Result};
use envelope::OperationId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::store::{find_outcome, retention, store_response};
use super::{WaitPolicy, count_after_commit};
use crate::metrics::OperationStep;
use crate::{Outcome, RecordState, StoredResponse};

/// The interval between two reads doubles from the first to the longest.
const FIRST_INTERVAL: Duration = Duration::from_millis(50);
const LONGEST_INTERVAL: Duration = Duration::from_millis(400);

/// The waiters of this process. Operation ids are unique, so one map serves all databases.
static WAITERS: Mutex<BTreeMap<OperationId, watch::Sender<()>>> = Mutex::new(BTreeMap::new());

fn waiters() -> MutexGuard<'static, BTreeMap<OperationId, watch::Sender<()>>> {
    // A poisoned lock is safe to use: each change is a single insert or remove.
    WAITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes the waiters of this operation in this process.
pub(super) fn wake(operation: OperationId) {
    if let Some(sender) = waiters().get(&operation) {
        sender.send_replace(());
    }
}

/// Waits for one operation. It notices every wake-up after its creation.
pub(super) struct Waiter {
    operation: OperationId,
    wake_up: watch::Receiver<()>,
}

impl Waiter {
    pub(super) fn new(operation: OperationId) -> Self {
        let wake_up = waiters().entry(operation).or_default().subscribe();
        Self { operation, wake_up }
    }

    /// Returns the operation's outcome. At the wait limit it stores the response 202 and returns that. Without the database the
    /// operation is in progress, because it is committed.
    pub(super) async fn outcome(mut self, database: &Database, wait: WaitPolicy) -> Outcome {
        let end = Instant::now() + wait.limit;
        let mut interval = FIRST_INTERVAL;
        while Instant::now() < end {
            let next_read = end.min(Instant::now() + interval);
            // Both results lead to a read: a wake-up, and the end of the interval. The sender outlives this receiver.
            let _ = tokio::time::timeout_at(next_read, self.wake_up.changed()).await;
            if let Some(outcome) = read_outcome(database, self.operation).await {
                return outcome;
            }
            interval = LONGEST_INTERVAL.min(interval * 2);
        }
        match accept(database, self.operation, wait).await {
            Ok(Some(response)) => return Outcome::Executed(response),
            // A conclusion or a retry stored a response first.
            Ok(None) => {}
            Err(error) => tracing::warn!(operation = %self.operation, %error, "202 could not be stored"),
        }
        read_outcome(database, self.operation).await.unwrap_or(Outcome::InProgress)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiters = waiters();
        // The count includes this receiver.
        if waiters.get(&self.operation).is_some_and(|sender| sender.receiver_count() <= 1) {
            waiters.remove(&self.operation);
        }
    }
}

/// Reads the outcome, if there is one. If it cannot be read it returns `None`, because the waiter reads again until its limit.
async fn read_outcome(database: &Database, operation: OperationId) -> Option<Outcome> {
    let read = async { find_outcome(&mut database.connection().await?, operation).await };
    read.await.unwrap_or_else(|error| {
        tracing::debug!(%operation, %error, "the outcome could not be read; reading again");
        None
    })
}

/// Stores the response 202 if the operation is still pending. Returns the response if it was stored.
async fn accept(
    database: &Database,
    operation: OperationId,
    wait: WaitPolicy,
) -> Result<Option<StoredResponse>> {
    let mut tx = database.begin().await?;
    let response = (wait.accepted)(operation);
    let (from, to) = (&[RecordState::Started], RecordState::Unknown);
    if let Some(retention) = retention(&mut tx, operation).await?
        && store_response(&mut tx, operation, from, to, &response, retention).await?
    {
        count_after_commit(&mut tx, OperationStep::Accepted);
        tx.commit().await?;
        Ok(Some(response))
    } else {
        tx.rollback().await?;
        Ok(None)
    }
}
