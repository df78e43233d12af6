//! `conclude`: records the outcome of a phased command, in the transaction that also writes its effects.

use database::{Result, Tx, UnitOfWork};
use envelope::OperationId;

use super::count_after_commit;
use super::store::{OperationState, move_operation, move_record, retention, store_response};
use super::wait;
use crate::metrics::OperationStep;
use crate::{RecordState, StoredResponse};

/// The outcome of a phased command, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conclusion {
    /// The command took effect; this is its final response.
    Succeeded(StoredResponse),
    /// The command took no effect and never will; this is its final response.
    Failed(StoredResponse),
    /// It is not known whether the command took effect. The operation does not end.
    Unknown,
    /// This attempt had no effect. Waiting callers get the response, it is not stored for the key, and a retry with the
    /// key starts the next attempt.
    Retryable(StoredResponse),
    /// The command can never be carried out, because of a defect on our side; this is its final response.
    Terminal(StoredResponse),
}

/// Concludes an operation. Returns whether its record moved. A stored response does not change, and an operation that
/// has ended stays as it is.
///
/// After [`Conclusion::Retryable`] the result says who starts the next attempt: `true` is the caller, by a retry with
/// the key. `false` is the worker, because a caller that has a stored response does not retry.
///
/// First lock the rows that the operation is about. Otherwise a conclusion and a retry deadlock.
///
/// # Errors
/// Database errors. Roll back then: a part may be written.
pub async fn conclude(tx: &mut Tx, operation: OperationId, conclusion: Conclusion) -> Result<bool> {
    use RecordState::{Completed, FailedRetryable, FailedTerminal, Started};
    let moved = match &conclusion {
        Conclusion::Succeeded(response) => {
            end(tx, operation, OperationState::Succeeded, Completed, response).await?
        }
        Conclusion::Failed(response) => {
            end(tx, operation, OperationState::Failed, Completed, response).await?
        }
        Conclusion::Terminal(response) => {
            end(tx, operation, OperationState::Failed, FailedTerminal, response).await?
        }
        Conclusion::Unknown => {
            if move_operation(tx, operation, OperationState::Unknown, None).await? {
                count_after_commit(tx, OperationStep::Unknown);
            }
            false
        }
        Conclusion::Retryable(response) => {
            let moved = move_record(tx, operation, Started, FailedRetryable).await?;
            let response = Some(response).filter(|_| moved);
            move_operation(tx, operation, OperationState::Running, response).await?;
            moved
        }
    };
    if moved {
        count_after_commit(tx, OperationStep::of(&conclusion));
        tx.after_commit(move || wait::wake(operation));
    }
    Ok(moved)
}

/// Stores the final response with the operation, and also with the record if that has none yet. An erased operation has ended.
async fn end(
    tx: &mut Tx,
    operation: OperationId,
    to: OperationState,
    record: RecordState,
    response: &StoredResponse,
) -> Result<bool> {
    let Some(retention) = retention(tx, operation).await? else { return Ok(false) };
    let from = &[RecordState::Started, RecordState::FailedRetryable];
    let moved = store_response(tx, operation, from, record, response, retention).await?
        || move_record(tx, operation, RecordState::Unknown, record).await?;
    move_operation(tx, operation, to, Some(response)).await?;
    Ok(moved)
}
