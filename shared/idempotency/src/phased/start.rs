//! `start`: the first transaction of a phased command, and the wait for its outcome.
//!
//! The transaction stores the record in state `started` together with the rows that a worker carries the command out
//! from. A handler must not call anything outside the database.

use database::{Database, Handler, Tx, UnitOfWork};
use envelope::OperationId;
use tracing::{Instrument, Span, info_span};

use super::store;
use super::wait::Waiter;
use super::{WaitPolicy, count_after_commit};
use crate::execute::{ATTEMPTS, can_run_again, conclude_failure, roll_back};
use crate::key_lookup::{KeyLookup, look_up_key};
use crate::keyed_request::show_operation;
use crate::metrics::{IdempotencyMetrics, OperationStep, TransactionTimer};
use crate::replay_cache::outcome_from_memory;
use crate::{CommandError, KeyedRequest, Operation, Outcome, RecordState, Retention};

type Result<T, E = database::Error> = std::result::Result<T, E>;

/// Accepts a phased command, unless its key was used before, and waits for its outcome up to the wait limit.
///
/// `begin` writes the rows that a worker carries the command out from, in the transaction that also stores its record.
/// `resume` does the same for an operation whose last attempt had no effect; it first locks the rows that the operation
/// is about. Both run again after contention, so they must not keep state between runs.
///
/// # Errors
/// As [`execute`](crate::execute): a retry with the same key finds the outcome.
pub async fn start<B, R>(
    database: &Database,
    retention: Retention,
    wait: WaitPolicy,
    request: KeyedRequest,
    begin: B,
    resume: R,
) -> Result<Outcome>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    if let Some(outcome) = outcome_from_memory(database, &request) {
        return outcome;
    }
    let span = Span::current();
    let first = First { database: database.clone(), retention, wait, request, span, begin, resume };
    let unit = async move {
        let mut attempt = 1;
        loop {
            match first.run().instrument(info_span!("transaction")).await {
                Ok(Started::RecordMoved) if attempt < ATTEMPTS => attempt += 1,
                Err(error) if attempt < ATTEMPTS && can_run_again(&error) => attempt += 1,
                result => return result,
            }
        }
    };
    let outcome = match database.detach(Box::pin(unit.in_current_span())).await.flatten() {
        Ok(Started::Known(outcome)) => Ok(outcome),
        Ok(Started::Waiting(waiter)) => Ok(waiter.outcome(database, wait).await),
        // Each attempt read a state that another process changed before the attempt could act on it.
        Ok(Started::RecordMoved) => Ok(Outcome::InProgress),
        Err(error) => Err(error),
    };
    // Not counted for a client that does not wait for the outcome.
    database.metrics::<IdempotencyMetrics>().count(&outcome);
    outcome
}

/// The result of the first transaction.
enum Started {
    /// The outcome is known.
    Known(Outcome),
    /// The command was accepted; its outcome comes later.
    Waiting(Waiter),
    /// The record changed after it was read; nothing was written.
    RecordMoved,
}

/// How the first transaction ends.
enum End {
    Commit(Started),
    Rollback(Started),
    /// `begin` did not succeed: rolls back, and stores the response of a rejection.
    Failed(Operation, CommandError),
}

/// The first transaction: what it needs to run, and to run again.
struct First<B, R> {
    database: Database,
    retention: Retention,
    wait: WaitPolicy,
    request: KeyedRequest,
    /// The request's span.
    span: Span,
    begin: B,
    resume: R,
}

impl<B, R> First<B, R>
where
    B: Handler<Tx, Operation, Result<(), CommandError>>,
    R: Handler<Tx, Operation, Result<(), CommandError>>,
{
    async fn run(&self) -> Result<Started> {
        let Self { database, retention, request, .. } = self;
        let _timer = TransactionTimer::start(database);
        let (mut tx, lookup) = database.begin_reading(async |tx| look_up_key(tx, request).await).await?;
        tx.set_traceparent(request.traceparent.clone());
        match self.execute(&mut tx, lookup).await {
            Ok(End::Commit(started)) => {
                tx.commit().await?;
                crashpoint::reach!("execute.after_commit");
                Ok(started)
            }
            Ok(End::Rollback(started)) => {
                tx.rollback().await?;
                Ok(started)
            }
            Ok(End::Failed(operation, error)) => {
                let outcome = conclude_failure(tx, database, *retention, request, operation, error).await?;
                Ok(Started::Known(outcome))
            }
            Err(error) => Err(roll_back(tx, error).await),
        }
    }

    async fn execute(&self, tx: &mut Tx, lookup: KeyLookup) -> Result<End> {
        let KeyLookup { is_locked, at, record } = lookup;
        let in_progress = Ok(End::Rollback(Started::Known(Outcome::InProgress)));
        let Some(record) = record else {
            if !is_locked {
                return in_progress;
            }
            return self.begin_operation(tx, self.request.operation(at)).await;
        };
        let (id, state) = (record.operation(), record.state());
        match record.outcome(&self.request)? {
            Outcome::InProgress => {}
            outcome => return Ok(End::Rollback(Started::Known(outcome))),
        }
        match state {
            RecordState::Started => self.accept_if_overdue(tx, id).await,
            RecordState::FailedRetryable if is_locked => {
                self.resume_operation(tx, Operation { id, ..self.request.operation(at) }).await
            }
            _ => in_progress,
        }
    }

    /// The key is new: writes the command's own rows and the record.
    async fn begin_operation(&self, tx: &mut Tx, operation: Operation) -> Result<End> {
        crashpoint::reach!("execute.key_claimed");
        show_operation(&self.span, operation.id);
        self.request.log_processing();
        let result = self.begin.clone().run(tx, &operation).await;
        crashpoint::reach!("execute.command_done");
        if let Err(error) = result {
            return Ok(End::Failed(operation, error));
        }
        store::insert(tx, &self.request, &operation, self.retention).await?;
        count_after_commit(tx, OperationStep::Started);
        crashpoint::reach!("execute.before_commit");
        // Created before the commit, so that the waiter misses no conclusion.
        Ok(End::Commit(Started::Waiting(Waiter::new(operation.id))))
    }

    /// The last attempt had no effect: starts the next one, under the same operation.
    async fn resume_operation(&self, tx: &mut Tx, operation: Operation) -> Result<End> {
        let id = operation.id;
        show_operation(&self.span, operation.id);
        match self.resume.clone().run(tx, &operation).await {
            Ok(()) => {}
            Err(CommandError::Rejected(response) | CommandError::Refused(response)) => {
                return Ok(End::Rollback(Started::Known(Outcome::Refused(response))));
            }
            Err(CommandError::Database(error)) => return Err(error),
        }
        if !store::move_record(tx, id, RecordState::FailedRetryable, RecordState::Started).await? {
            return Ok(End::Rollback(Started::RecordMoved));
        }
        store::restart_operation(tx, id).await?;
        count_after_commit(tx, OperationStep::Resumed);
        Ok(End::Commit(Started::Waiting(Waiter::new(id))))
    }

    /// Stores the response 202 if the attempt is older than the wait limit. Its handler may have died, so a retry does not wait for it.
    async fn accept_if_overdue(&self, tx: &mut Tx, id: OperationId) -> Result<End> {
        if !store::is_overdue(tx, id, self.wait.limit).await? {
            return Ok(End::Rollback(Started::Known(Outcome::InProgress)));
        }
        let response = (self.wait.accepted)(id);
        let (from, to) = (&[RecordState::Started], RecordState::Unknown);
        if store::store_response(tx, id, from, to, &response, self.retention).await? {
            count_after_commit(tx, OperationStep::Accepted);
            Ok(End::Commit(Started::Known(Outcome::Executed(response))))
        } else {
            Ok(End::Rollback(Started::RecordMoved))
        }
    }
}
