//! The executor: one transaction for a command, its events, its audit fact and its stored response.
//!
//! The executor begins, commits, rolls back and runs again; a command does none of these. The transaction runs in a
//! task of its own, so a client that disconnects does not stop it.
//!
//! What goes wrong without it: if the response is stored after the commit, a process that dies between the two leaves an order
//! whose retry finds no record, and places a second one. If it is stored before, the retry gets a response of an order that
//! does not exist.

use database::functions::clock_timestamp;
use database::{Database, Error, ErrorClass, Handler, Tx, UnitOfWork};
use diesel_async::RunQueryDsl;
use envelope::{Caller, OperationId};
use tracing::{Instrument, Span, info_span};

use crate::key_lookup::{KeyLookup, look_up_key};
use crate::keyed_request::show_operation;
use crate::metrics::{IdempotencyMetrics, TransactionTimer};
use crate::record::CompletedRecords;
use crate::replay_cache::{ReplayCache, outcome_from_memory};
use crate::{CommandError, KeyedRequest, Operation, Outcome, Retention, StoredResponse};

/// How often a unit of work runs if it meets contention. After that the caller gets the error.
pub(crate) const ATTEMPTS: u32 = 4;

/// Executes a request, unless its key was used before.
///
/// `command` runs in the transaction that also stores its response. An error rolls back all its writes; the
/// [`CommandError`] says whether a response is stored. After contention the whole unit of work runs again, so `command`
/// must not keep state between runs.
///
/// # Errors
/// Database errors, with nothing committed. After [`Error::CommitUnknown`], only a retry with the same key finds the
/// outcome.
pub async fn execute<F>(
    database: &Database,
    retention: Retention,
    request: KeyedRequest,
    command: F,
) -> Result<Outcome, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
{
    if let Some(outcome) = outcome_from_memory(database, &request) {
        return outcome;
    }
    let (worker, span) = (database.clone(), Span::current());
    let unit = async move {
        let mut attempt = 1;
        let result = loop {
            let once = execute_once(&worker, retention, &request, command.clone(), &span);
            match once.instrument(info_span!("transaction")).await {
                Err(error) if attempt < ATTEMPTS && can_run_again(&error) => {
                    tracing::debug!(%error, attempt, "contention: the unit of work runs again");
                    attempt += 1;
                }
                result => break result,
            }
        };
        worker.metrics::<IdempotencyMetrics>().count(&result);
        result
    };
    // The task keeps its request's span, so that its log lines show the request after the client has disconnected. Boxed, so that
    // a replay from memory does not carry it.
    database.detach(Box::pin(unit.in_current_span())).await?
}

/// Reports whether the unit of work may run again at once. After contention nothing is committed. After a duplicate
/// record, the next run finds the record.
pub(crate) fn can_run_again(error: &Error) -> bool {
    error.class() == ErrorClass::Contention || error.is_constraint("idempotency_record_pkey")
}

/// The beginning of a unit of work.
pub(crate) enum KeyClaim {
    /// The key is new, and the transaction holds its lock.
    New(Tx, Operation),
    /// The outcome is known already, and no transaction is open.
    Known(Outcome),
}

/// Begins a transaction, locks the key and reads its record, in one round trip.
async fn claim_key(database: &Database, request: &KeyedRequest) -> Result<KeyClaim, Error> {
    let (tx, KeyLookup { is_locked, at, record }) =
        database.begin_reading(async |tx| look_up_key(tx, request).await).await?;
    let outcome = match record {
        // A record decides without the lock: another replay may hold the lock.
        Some(record) => record.outcome(request),
        None if is_locked => {
            return Ok(KeyClaim::New(tx, request.operation(at)));
        }
        None => Ok(Outcome::InProgress),
    };
    tx.rollback().await?;
    Ok(KeyClaim::Known(outcome?))
}

async fn execute_once<F>(
    database: &Database,
    retention: Retention,
    request: &KeyedRequest,
    command: F,
    request_span: &Span,
) -> Result<Outcome, Error>
where
    F: Handler<Tx, Operation, Result<StoredResponse, CommandError>>,
{
    let _timer = TransactionTimer::start(database);
    let (mut tx, operation) = match claim_key(database, request).await? {
        KeyClaim::New(tx, operation) => (tx, operation),
        KeyClaim::Known(outcome) => return Ok(outcome),
    };
    crashpoint::reach!("execute.key_claimed");
    show_operation(request_span, operation.id);
    request.log_processing();
    tx.set_traceparent(request.traceparent.clone());
    let result = command.run(&mut tx, &operation).await;
    crashpoint::reach!("execute.command_done");
    match result {
        Ok(response) => commit_response(tx, database, retention, request, operation, response).await,
        Err(error) => conclude_failure(tx, database, retention, request, operation, error).await,
    }
}

/// Ends a command that did not succeed. Rolls back; stores the response of a rejection.
///
/// A rejection is stored by a second transaction, because a savepoint would cost every success a round trip. Between
/// the two the key is free: if another request takes the key, that request decides.
pub(crate) async fn conclude_failure(
    tx: Tx,
    database: &Database,
    retention: Retention,
    request: &KeyedRequest,
    operation: Operation,
    error: CommandError,
) -> Result<Outcome, Error> {
    match error {
        CommandError::Rejected(response) => {
            tx.rollback().await?;
            match claim_key(database, request).await? {
                KeyClaim::New(tx, _) => {
                    commit_response(tx, database, retention, request, operation, response).await
                }
                KeyClaim::Known(outcome) => Ok(outcome),
            }
        }
        CommandError::Refused(response) => {
            tx.rollback().await?;
            Ok(Outcome::Refused(response))
        }
        CommandError::Database(error) => Err(roll_back(tx, error).await),
    }
}

/// Writes the completed record together with all buffered rows, and commits.
async fn commit_response(
    mut tx: Tx,
    database: &Database,
    retention: Retention,
    request: &KeyedRequest,
    operation: Operation,
    response: StoredResponse,
) -> Result<Outcome, Error> {
    let intake = database.attached::<ReplayCache>().intake();
    let records = vec![(request.clone(), operation.clone(), response.clone())];
    tx.buffer(CompletedRecords { retention, records });
    crashpoint::reach!("execute.before_commit");
    tx.commit().await?;
    crashpoint::reach!("execute.after_commit");
    intake.keep_completed(request, &operation, &response, retention);
    Ok(Outcome::Executed(response))
}

/// Rolls back, then returns the error. Dropping the transaction instead would end it a moment later, and a client that
/// retries at once would find the key's lock still taken.
pub(crate) async fn roll_back(tx: Tx, error: Error) -> Error {
    if let Err(rollback) = tx.rollback().await {
        tracing::debug!(error = %rollback, "ROLLBACK failed; the connection is closed");
    }
    error
}

/// Executes a command that is idempotent by itself, without a key and a record.
///
/// # Errors
/// As [`execute`]. After [`Error::CommitUnknown`] the client may send the same request again.
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
        show_operation(&Span::current(), id);
        let mut attempt = 1;
        loop {
            let once = execute_natural_once(&worker, id, &caller, traceparent.clone(), command.clone());
            match once.instrument(info_span!("transaction")).await {
                Err(error) if attempt < ATTEMPTS && error.class() == ErrorClass::Contention => attempt += 1,
                result => return result,
            }
        }
    };
    database.detach(unit.in_current_span()).await?
}

async fn execute_natural_once<F>(
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
    let (mut tx, at) =
        database.begin_reading(async |mut tx| Ok::<_, Error>(now.get_result(&mut tx).await?)).await?;
    tx.set_traceparent(traceparent);
    let operation = Operation { id, seed: id.uuid(), caller: caller.clone(), at };
    match command.run(&mut tx, &operation).await {
        Ok(response) => {
            tx.commit().await?;
            Ok(response)
        }
        Err(CommandError::Rejected(response) | CommandError::Refused(response)) => {
            tx.rollback().await?;
            Ok(response)
        }
        Err(CommandError::Database(error)) => Err(roll_back(tx, error).await),
    }
}
