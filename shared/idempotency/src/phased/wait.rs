//! Waiting for an outcome without a connection: told by whoever commits it in this process, and looking now and then,
//! because it may be committed in another one. Looking is the truth; being told only makes it soon.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contracts::OperationId;
use database::{Database, Result};
use tokio::sync::watch;
use tokio::time::Instant;

use super::WaitPolicy;
use super::rows::{STARTED, Standing, UNKNOWN, give_receipt, retention, standing};
use crate::{Outcome, StoredResponse};

/// Between two looks; the pause doubles from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Who waits in this process. Operation ids are unique, so it serves every database.
static WAITING: Mutex<BTreeMap<OperationId, watch::Sender<()>>> = Mutex::new(BTreeMap::new());

fn waiting() -> MutexGuard<'static, BTreeMap<OperationId, watch::Sender<()>>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes whoever waits for this operation in this process.
pub(super) fn tell(operation: OperationId) {
    if let Some(sender) = waiting().get(&operation) {
        sender.send_replace(());
    }
}

/// Waits for one operation; what is told from its making on is not missed.
pub(super) struct Waiter {
    operation: OperationId,
    told: watch::Receiver<()>,
}

impl Waiter {
    pub(super) fn new(operation: OperationId) -> Self {
        let told = waiting().entry(operation).or_default().subscribe();
        Self { operation, told }
    }

    /// The operation's receipt, at the limit of patience at the latest: then one is made.
    pub(super) async fn outcome(mut self, database: &Database, patience: WaitPolicy) -> Result<Outcome> {
        let end = Instant::now() + patience.limit;
        let mut pause = FIRST_PAUSE;
        while Instant::now() < end {
            let pause_end = end.min(Instant::now() + pause);
            // An error would say that nobody can tell any more; the sender lives as long as this.
            let _ = tokio::time::timeout_at(pause_end, self.told.changed()).await;
            if let Some(answer) = look(database, self.operation).await? {
                return Ok(answer);
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
        if let Some(receipt) = promise(database, self.operation, patience).await? {
            return Ok(Outcome::Executed(receipt));
        }
        // Somebody else was faster: the outcome, or a retry.
        Ok(look(database, self.operation).await?.unwrap_or(Outcome::InProgress))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = waiting();
        // This one still counts.
        if waiting.get(&self.operation).is_some_and(|sender| sender.receiver_count() <= 1) {
            waiting.remove(&self.operation);
        }
    }
}

/// What there is to say by now, if anything. A database that does not answer for a moment is no reason to give up: the
/// limit is.
async fn look(database: &Database, operation: OperationId) -> Result<Option<Outcome>> {
    let mut connection = match database.connection().await {
        Ok(connection) => connection,
        Err(error) => {
            tracing::debug!(%operation, %error, "the outcome was not looked up; looking again");
            return Ok(None);
        }
    };
    Ok(match standing(&mut connection, operation).await? {
        Standing::Started => None,
        Standing::StoredResponse(receipt) => Some(Outcome::Executed(receipt)),
        Standing::Retryable(told) => Some(Outcome::Refused(told)),
        Standing::Erased => Some(Outcome::Expired),
    })
}

/// Makes the receipt of an operation whose outcome is still to come, unless it has one or needs none.
async fn promise(
    database: &Database,
    operation: OperationId,
    patience: WaitPolicy,
) -> Result<Option<StoredResponse>> {
    let mut tx = database.begin().await?;
    let receipt = (patience.receipt)(operation);
    let kept = retention(&mut tx, operation).await?;
    if give_receipt(&mut tx, operation, &[STARTED], UNKNOWN, &receipt, kept).await? {
        tx.commit().await?;
        Ok(Some(receipt))
    } else {
        tx.rollback().await?;
        Ok(None)
    }
}
