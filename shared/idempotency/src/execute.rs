//! The executor: one transaction for a command, its events, its fact and its answer.
//!
//! Handlers never begin, commit or try again. It happens here, in a task that a vanished client does not stop.

use contracts::{Caller, OperationId};
use database::{Class, Database, Error, Tx, Work};
use tracing::Instrument;

use crate::record::{Completed, lock_and_find};
use crate::{Answer, Failure, Intent, Operation, Receipt, Retention};

/// How often a unit of work that lost to others is run before the caller is told to come back later.
const ATTEMPTS: u32 = 4;

/// Carries an intent out, unless that was done before.
///
/// `command` runs in the transaction that also stores its answer. Its error undoes all that it did; whether the answer
/// is kept depends on the [`Failure`]. On contention the whole unit is run again, so `command` must not remember.
///
/// # Errors
/// Database errors, with nothing done; [`Error::CommitUnknown`] when only a retry with the same key can tell.
pub async fn execute<F>(
    database: &Database,
    retention: Retention,
    intent: Intent,
    command: F,
) -> Result<Answer, Error>
where
    for<'t, 'o> F: AsyncFnOnce(&'t mut Tx, &'o Operation) -> Result<Receipt, Failure>
        + Work<&'t mut Tx, &'o Operation, Result<Receipt, Failure>, Fut: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let worker = database.clone();
    let unit = async move {
        tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "IdempotencyKeyReceived");
        let mut attempt = 1;
        loop {
            match once(&worker, retention, &intent, command.clone()).await {
                Err(error) if attempt < ATTEMPTS && again(&error) => {
                    tracing::debug!(%error, attempt, "the unit of work runs again");
                    attempt += 1;
                }
                done => return done,
            }
        }
    };
    // The task has its request's span: its lines lead to the request, also when nobody waits for it any more.
    database.detach(unit.in_current_span()).await?
}

/// Contention undid everything; a record that appeared in between will be found by the next look.
fn again(error: &Error) -> bool {
    error.class() == Class::Contention || error.is_constraint("idempotency_record_pkey")
}

/// How a unit of work ends.
enum End {
    /// The receipt is kept, with everything that it tells about.
    Commit(Receipt),
    /// Nothing is kept.
    Rollback(Answer),
}

async fn once<F>(
    database: &Database,
    retention: Retention,
    intent: &Intent,
    command: F,
) -> Result<Answer, Error>
where
    for<'t, 'o> F: AsyncFnOnce(&'t mut Tx, &'o Operation) -> Result<Receipt, Failure>
        + Work<&'t mut Tx, &'o Operation, Result<Receipt, Failure>, Fut: Send>
        + Send,
{
    let mut tx = database.begin().await?;
    match within(&mut tx, retention, intent, command).await {
        Ok(End::Commit(receipt)) => {
            tx.commit().await?;
            crashpoint::reach!("e4");
            Ok(Answer::Executed(receipt))
        }
        Ok(End::Rollback(answer)) => {
            tx.rollback().await?;
            Ok(answer)
        }
        Err(error) => Err(give_up(tx, error).await),
    }
}

async fn within<F>(tx: &mut Tx, retention: Retention, intent: &Intent, command: F) -> Result<End, Error>
where
    for<'t, 'o> F: AsyncFnOnce(&'t mut Tx, &'o Operation) -> Result<Receipt, Failure>
        + Work<&'t mut Tx, &'o Operation, Result<Receipt, Failure>, Fut: Send>
        + Send,
{
    let (locked, found) = lock_and_find(tx, intent).await?;
    // A finished record answers whoever holds the lock: that may be another replay.
    if let Some(found) = found {
        return Ok(End::Rollback(said(found.answer(intent), intent)));
    }
    if !locked {
        return Ok(End::Rollback(Answer::InProgress));
    }
    crashpoint::reach!("e1");

    tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "NewRequestProcessing");
    let operation = Operation { id: OperationId::generate(), caller: intent.scope.caller.clone() };
    tx.set_traceparent(intent.traceparent.clone());
    let mark = tx.mark().await?;
    let receipt = match command(tx, &operation).await {
        Ok(receipt) => receipt,
        Err(Failure::Rejected(receipt)) => {
            tx.undo(mark).await?;
            receipt
        }
        Err(Failure::Refused(receipt)) => return Ok(End::Rollback(Answer::Refused(receipt))),
        Err(Failure::Database(error)) => return Err(error),
    };
    crashpoint::reach!("e2");

    tx.buffer(Completed { intent: intent.clone(), operation, receipt: receipt.clone(), retention });
    tx.flush().await?;
    crashpoint::reach!("e3");
    Ok(End::Commit(receipt))
}

/// Ends the transaction at the server before the error is told. Dropped instead, it would end moments later, and
/// whoever tries again at once would find the key's lock still taken by the attempt that failed.
async fn give_up(tx: Tx, error: Error) -> Error {
    if let Err(lost) = tx.rollback().await {
        tracing::debug!(%lost, "the connection was lost as well");
    }
    error
}

fn said(answer: Answer, intent: &Intent) -> Answer {
    if matches!(answer, Answer::Replayed { .. }) {
        tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "CachedResponseReturned");
    }
    answer
}

/// Carries out a command that is idempotent by itself: the same executor, without a key and a record.
///
/// # Errors
/// As [`execute`]; after [`Error::CommitUnknown`] the same request may simply be sent again.
pub async fn execute_natural<F>(
    database: &Database,
    caller: Caller,
    traceparent: Option<String>,
    command: F,
) -> Result<Receipt, Error>
where
    for<'t, 'o> F: AsyncFnOnce(&'t mut Tx, &'o Operation) -> Result<Receipt, Failure>
        + Work<&'t mut Tx, &'o Operation, Result<Receipt, Failure>, Fut: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let worker = database.clone();
    let unit = async move {
        let operation = Operation { id: OperationId::generate(), caller };
        let mut attempt = 1;
        loop {
            match once_naturally(&worker, &operation, traceparent.clone(), command.clone()).await {
                Err(error) if attempt < ATTEMPTS && error.class() == Class::Contention => attempt += 1,
                done => return done,
            }
        }
    };
    database.detach(unit.in_current_span()).await?
}

async fn once_naturally<F>(
    database: &Database,
    operation: &Operation,
    traceparent: Option<String>,
    command: F,
) -> Result<Receipt, Error>
where
    for<'t, 'o> F: AsyncFnOnce(&'t mut Tx, &'o Operation) -> Result<Receipt, Failure>
        + Work<&'t mut Tx, &'o Operation, Result<Receipt, Failure>, Fut: Send>
        + Send,
{
    let mut tx = database.begin().await?;
    tx.set_traceparent(traceparent);
    match command(&mut tx, operation).await {
        Ok(receipt) => {
            tx.commit().await?;
            Ok(receipt)
        }
        Err(Failure::Rejected(receipt) | Failure::Refused(receipt)) => {
            tx.rollback().await?;
            Ok(receipt)
        }
        Err(Failure::Database(error)) => Err(give_up(tx, error).await),
    }
}
