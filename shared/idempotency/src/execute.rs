//! The executor: one transaction for a command, its events, its fact and its answer.
//!
//! Handlers never begin, commit or try again. It happens here, in a task that a vanished client does not stop.

use std::ops::ControlFlow;

use contracts::{Caller, OperationId};
use database::functions::clock_timestamp;
use database::{Database, Error, ErrorClass, Handler, Tx, UnitOfWork};
use diesel_async::RunQueryDsl;
use tracing::Instrument;

use crate::record::Completed;
use crate::sight::{Sight, lock_and_find_one};
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// How often a unit of work that lost to others is run before the caller is told to come back later.
pub(crate) const ATTEMPTS: u32 = 4;

/// Carries an intent out, unless that was done before.
///
/// `command` runs in the transaction that also stores its answer. Its error undoes all that it did; whether the answer
/// is kept depends on the [`CommandError`]. On contention the whole unit is run again, so `command` must not remember.
///
/// # Errors
/// Database errors, with nothing done; [`Error::CommitUnknown`] when only a retry with the same key can tell.
pub async fn execute<F>(
    database: &Database,
    retention: Retention,
    intent: KeyedRequest,
    command: F,
) -> Result<Outcome, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
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
pub(crate) fn again(error: &Error) -> bool {
    error.class() == ErrorClass::Contention || error.is_constraint("idempotency_record_pkey")
}

/// How a unit of work begins: the key is new and its lock is held, or there is an answer and nothing to do.
type Entry = ControlFlow<Outcome, (Tx, Operation)>;

async fn enter(database: &Database, intent: &KeyedRequest) -> Result<Entry, Error> {
    let (tx, Sight { locked, at, found }) =
        database.begin_reading(async |tx| lock_and_find_one(tx, intent).await).await?;
    let answer = match found {
        // A finished record answers whoever holds the lock: that may be another replay.
        Some(found) => said(found.answer(intent), intent),
        None if locked => {
            let caller = intent.scope.caller.clone();
            return Ok(Entry::Continue((tx, Operation { id: OperationId::generate(), caller, at })));
        }
        None => Outcome::InProgress,
    };
    tx.rollback().await?;
    Ok(Entry::Break(answer))
}

async fn once<F>(
    database: &Database,
    retention: Retention,
    intent: &KeyedRequest,
    command: F,
) -> Result<Outcome, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
{
    let (mut tx, operation) = match enter(database, intent).await? {
        Entry::Continue(begun) => begun,
        Entry::Break(answer) => return Ok(answer),
    };
    crashpoint::reach!("execute.key_claimed");

    tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "NewRequestProcessing");
    tx.set_traceparent(intent.traceparent.clone());
    let receipt = match command.run(&mut tx, &operation).await {
        Ok(receipt) => receipt,
        Err(CommandError::Rejected(receipt)) => {
            // Undone as a whole, and kept by a transaction of its own: a savepoint would cost every success a round
            // trip. In between the key is free; whoever takes it then has the say.
            tx.rollback().await?;
            tx = match enter(database, intent).await? {
                Entry::Continue((tx, _)) => tx,
                Entry::Break(answer) => return Ok(answer),
            };
            receipt
        }
        Err(CommandError::Refused(receipt)) => {
            tx.rollback().await?;
            return Ok(Outcome::Refused(receipt));
        }
        Err(CommandError::Database(error)) => return Err(give_up(tx, error).await),
    };
    crashpoint::reach!("execute.command_done");

    let answered = (intent.clone(), operation, receipt.clone());
    tx.buffer(Completed { retention, all: vec![answered] });
    if let Err(error) = tx.flush().await {
        return Err(give_up(tx, error).await);
    }
    crashpoint::reach!("execute.before_commit");
    tx.commit().await?;
    crashpoint::reach!("execute.after_commit");
    Ok(Outcome::Executed(receipt))
}

/// Ends the transaction at the server before the error is told. Dropped instead, it would end moments later, and
/// whoever tries again at once would find the key's lock still taken by the attempt that failed.
pub(crate) async fn give_up(tx: Tx, error: Error) -> Error {
    if let Err(lost) = tx.rollback().await {
        tracing::debug!(%lost, "the connection was lost as well");
    }
    error
}

pub(crate) fn said(answer: Outcome, intent: &KeyedRequest) -> Outcome {
    if matches!(answer, Outcome::Replayed { .. }) {
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
) -> Result<StoredResponse, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
{
    let worker = database.clone();
    let unit = async move {
        let id = OperationId::generate();
        let mut attempt = 1;
        loop {
            match once_naturally(&worker, id, &caller, traceparent.clone(), command.clone()).await {
                Err(error) if attempt < ATTEMPTS && error.class() == ErrorClass::Contention => attempt += 1,
                done => return done,
            }
        }
    };
    database.detach(unit.in_current_span()).await?
}

async fn once_naturally<F>(
    database: &Database,
    id: OperationId,
    caller: &Caller,
    traceparent: Option<String>,
    command: F,
) -> Result<StoredResponse, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
{
    let now = diesel::select(clock_timestamp());
    let (mut tx, at) = database.begin_reading(async |mut tx| Ok(now.get_result(&mut tx).await?)).await?;
    tx.set_traceparent(traceparent);
    match command.run(&mut tx, &Operation { id, caller: caller.clone(), at }).await {
        Ok(receipt) => {
            tx.commit().await?;
            Ok(receipt)
        }
        Err(CommandError::Rejected(receipt) | CommandError::Refused(receipt)) => {
            tx.rollback().await?;
            Ok(receipt)
        }
        Err(CommandError::Database(error)) => Err(give_up(tx, error).await),
    }
}
