//! The end of a phased command, in the transaction that records its outcome: neither exists without the other.

use contracts::OperationId;
use database::{Result, Tx, UnitOfWork};

use super::operation::OperationState;
use super::rows::{
    COMPLETED, FAILED_RETRYABLE, FAILED_TERMINAL, STARTED, UNKNOWN, give_receipt, move_operation,
    move_record, retention,
};
use super::wait;
use crate::StoredResponse;

/// What came of a phased command, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conclusion {
    /// It took effect: the final reply.
    Succeeded(StoredResponse),
    /// It took no effect and never will: the final reply.
    Failed(StoredResponse),
    /// Whether it took effect is not known. Nothing ends by that.
    Unknown,
    /// This try proved to be without effect. Whoever waits is told so; it is no receipt, and the same key may try again.
    Retryable(StoredResponse),
    /// It can never be carried out, by a fault of ours: the final reply.
    Terminal(StoredResponse),
}

/// Concludes an operation. Returns whether the record has moved by it: a receipt that was given stays, and what ended
/// before stays as it ended.
///
/// For [`Conclusion::Retryable`] that says whose turn it is: the caller's, who tries again with the key, or ours,
/// because a caller with a receipt has no reason to.
///
/// Lock what the operation is about before; whoever starts one does so, too.
pub async fn conclude(tx: &mut Tx, operation: OperationId, conclusion: Conclusion) -> Result<bool> {
    let moved = match &conclusion {
        Conclusion::Succeeded(reply) => {
            end(tx, operation, OperationState::Succeeded, COMPLETED, reply).await?
        }
        Conclusion::Failed(reply) => end(tx, operation, OperationState::Failed, COMPLETED, reply).await?,
        Conclusion::Terminal(reply) => {
            end(tx, operation, OperationState::Failed, FAILED_TERMINAL, reply).await?
        }
        Conclusion::Unknown => {
            move_operation(tx, operation, OperationState::Unknown, None).await?;
            false
        }
        Conclusion::Retryable(reply) => {
            let moved = move_record(tx, operation, STARTED, FAILED_RETRYABLE).await?;
            let reply = Some(reply).filter(|_| moved);
            move_operation(tx, operation, OperationState::Running, reply).await?;
            moved
        }
    };
    if moved {
        tx.after_commit(move || wait::tell(operation));
    }
    Ok(moved)
}

/// The record gets the reply as its receipt, unless it has one; the operation gets it either way.
async fn end(
    tx: &mut Tx,
    operation: OperationId,
    to: OperationState,
    record: &str,
    reply: &StoredResponse,
) -> Result<bool> {
    let kept = retention(tx, operation).await?;
    let moved = give_receipt(tx, operation, &[STARTED, FAILED_RETRYABLE], record, reply, kept).await?
        || move_record(tx, operation, UNKNOWN, record).await?;
    move_operation(tx, operation, to, Some(reply)).await?;
    Ok(moved)
}
