//! Transaction one of a phased command: its record, `started`, together with the rows that others carry it out by.
//! Then the wait for what comes of it.

use std::time::Duration;

use chrono::TimeDelta;
use contracts::OperationId;
use database::{Database, Handler, Tx, UnitOfWork};
use tracing::Instrument;

use super::WaitPolicy;
use super::rows::{self, FAILED_RETRYABLE, STARTED, UNKNOWN};
use super::wait::Waiter;
use crate::execute::{ATTEMPTS, again, give_up, said};
use crate::record::Completed;
use crate::sight::{Sight, lock_and_find_one};
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention};

type Result<T, E = database::Error> = std::result::Result<T, E>;

/// Accepts a phased command, unless that was done before, and waits for its outcome within the caller's patience.
///
/// `begin` writes what the command is carried out by, in the transaction that also stores its record. `resume` does so
/// for an operation whose last try proved to be without effect; it locks first what the operation is about. Neither
/// reaches beyond this database. On contention they are run again, so they must not remember.
///
/// # Errors
/// As [`execute`](crate::execute): the same request may be sent again, and its answer tells.
pub async fn start<B, R>(
    database: &Database,
    retention: Retention,
    patience: WaitPolicy,
    intent: KeyedRequest,
    begin: B,
    resume: R,
) -> Result<Outcome>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    let worker = database.clone();
    let unit = async move {
        tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "IdempotencyKeyReceived");
        let mut attempt = 1;
        loop {
            match once(&worker, retention, patience, &intent, begin.clone(), resume.clone()).await {
                Ok(Opened::Moved) if attempt < ATTEMPTS => attempt += 1,
                Err(error) if attempt < ATTEMPTS && again(&error) => attempt += 1,
                done => return done,
            }
        }
    };
    match database.detach(unit.in_current_span()).await?? {
        Opened::Answered(answer) => Ok(answer),
        Opened::Started(waiter) => waiter.outcome(database, patience).await,
        // It changes faster than anybody can look.
        Opened::Moved => Ok(Outcome::InProgress),
    }
}

/// What transaction one comes to.
enum Opened {
    /// There is an answer already.
    Answered(Outcome),
    /// It is under way from now on.
    Started(Waiter),
    /// The record moved after it was read; nothing was done.
    Moved,
}

/// How transaction one ends.
enum End {
    Commit(Opened),
    Rollback(Opened),
}

async fn once<B, R>(
    database: &Database,
    retention: Retention,
    patience: WaitPolicy,
    intent: &KeyedRequest,
    begin: B,
    resume: R,
) -> Result<Opened>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    let (mut tx, sight) = database.begin_reading(async |tx| lock_and_find_one(tx, intent).await).await?;
    tx.set_traceparent(intent.traceparent.clone());
    match open(&mut tx, sight, retention, patience, intent, begin, resume).await {
        Ok(End::Commit(opened)) => {
            tx.commit().await?;
            crashpoint::reach!("execute.after_commit");
            Ok(opened)
        }
        Ok(End::Rollback(opened)) => {
            tx.rollback().await?;
            Ok(opened)
        }
        Err(error) => Err(give_up(tx, error).await),
    }
}

async fn open<B, R>(
    tx: &mut Tx,
    sight: Sight,
    retention: Retention,
    patience: WaitPolicy,
    intent: &KeyedRequest,
    begin: B,
    resume: R,
) -> Result<End>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    let Sight { locked, at, found } = sight;
    let answered = |answer| Ok(End::Rollback(Opened::Answered(said(answer, intent))));
    let Some(found) = found else {
        if !locked {
            return answered(Outcome::InProgress);
        }
        let operation = Operation { id: OperationId::generate(), caller: intent.scope.caller.clone(), at };
        return begin_now(tx, retention, intent, operation, begin).await;
    };
    let (id, state) = (found.operation(), found.state().to_owned());
    match found.answer(intent) {
        // Of one that is under way there is more to say.
        Outcome::InProgress => {}
        answer => return answered(answer),
    }
    match state.as_str() {
        STARTED => promise_if_overdue(tx, id, retention, patience).await,
        FAILED_RETRYABLE if locked => {
            let caller = intent.scope.caller.clone();
            resume_now(tx, Operation { id, caller, at }, resume).await
        }
        _ => answered(Outcome::InProgress),
    }
}

/// Nobody has used the key: the command's own rows and the record, or its refusal.
async fn begin_now<B>(
    tx: &mut Tx,
    retention: Retention,
    intent: &KeyedRequest,
    operation: Operation,
    begin: B,
) -> Result<End>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
{
    crashpoint::reach!("execute.key_claimed");
    tracing::info!(key = %intent.key.short_hash(), route = %intent.scope.route, "NewRequestProcessing");
    let mark = tx.mark().await?;
    let begun = begin.run(tx, &operation).await;
    crashpoint::reach!("execute.command_done");
    let opened = match begun {
        Ok(()) => {
            rows::insert(tx, intent, &operation, retention).await?;
            // Made before the commit, so that nothing can be told too early.
            Opened::Started(Waiter::new(operation.id))
        }
        Err(CommandError::Rejected(receipt)) => {
            tx.undo(mark).await?;
            let answered = (intent.clone(), operation, receipt.clone());
            tx.buffer(Completed { retention, all: vec![answered] });
            Opened::Answered(Outcome::Executed(receipt))
        }
        Err(CommandError::Refused(receipt)) => {
            return Ok(End::Rollback(Opened::Answered(Outcome::Refused(receipt))));
        }
        Err(CommandError::Database(error)) => return Err(error),
    };
    tx.flush().await?;
    crashpoint::reach!("execute.before_commit");
    Ok(End::Commit(opened))
}

/// Its last try proved to be without effect: the next one, under the same operation.
async fn resume_now<R>(tx: &mut Tx, operation: Operation, resume: R) -> Result<End>
where
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    let id = operation.id;
    match resume.run(tx, &operation).await {
        Ok(()) => {}
        Err(CommandError::Rejected(receipt) | CommandError::Refused(receipt)) => {
            return Ok(End::Rollback(Opened::Answered(Outcome::Refused(receipt))));
        }
        Err(CommandError::Database(error)) => return Err(error),
    }
    if !rows::move_record(tx, id, FAILED_RETRYABLE, STARTED).await? {
        return Ok(End::Rollback(Opened::Moved));
    }
    rows::restart_operation(tx, id).await?;
    Ok(End::Commit(Opened::Started(Waiter::new(id))))
}

/// Whoever started it may be dead: past the limit, nobody waits for them.
async fn promise_if_overdue(
    tx: &mut Tx,
    id: OperationId,
    retention: Retention,
    patience: WaitPolicy,
) -> Result<End> {
    if !rows::is_overdue(tx, id, span(patience.limit)).await? {
        return Ok(End::Rollback(Opened::Answered(Outcome::InProgress)));
    }
    let receipt = (patience.receipt)(id);
    if rows::give_receipt(tx, id, &[STARTED], UNKNOWN, &receipt, retention).await? {
        Ok(End::Commit(Opened::Answered(Outcome::Executed(receipt))))
    } else {
        Ok(End::Rollback(Opened::Moved))
    }
}

fn span(limit: Duration) -> TimeDelta {
    TimeDelta::from_std(limit).unwrap_or(TimeDelta::MAX)
}
