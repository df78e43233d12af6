//! Commands whose effect lies beyond this database: accepted in one transaction, carried out by others, concluded in
//! another transaction. The record carries them from the first to the last, and whoever dies on the way leaves it in a
//! state that somebody else goes on from.
//!
//! Every move is an `UPDATE … WHERE state = …`: of two that race, one finds its row and the other looks again. A
//! receipt is written once; a record that has one changes its state, never the receipt.
//!
//! | from | to | moved by | receipt |
//! |---|---|---|---|
//! | – | `started` | [`start`]: the command's own rows were written with it | – |
//! | – | `completed` | [`start`]: a business rule refused the command | the refusal |
//! | `started` | `completed` | [`conclude`]: succeeded, or failed | the final reply |
//! | `started` | `unknown` | [`start`]: its wait is over, or a retry finds that it must be | 202 |
//! | `started` | `failed_retryable` | [`conclude`]: proved to be without effect | – |
//! | `failed_retryable` | `started` | [`start`]: a retry, under the same operation | – |
//! | `failed_retryable` | `completed` | [`conclude`]: nobody tried again in time | the final reply |
//! | `started`, `failed_retryable` | `failed_terminal` | [`conclude`]: it can never be carried out | the final reply |
//! | `unknown` | `completed`, `failed_terminal` | [`conclude`] | stays 202 |
//! | any with a receipt | `expired` | time; its answer is erased, its tombstone stays | – |
//!
//! The operation beside the record goes its own way, because the receipt may be older than the outcome: `running`,
//! `unknown` while an effect is in doubt, then `succeeded` or `failed` for good, with the final reply.

mod conclude;
mod operation;
mod rows;
mod start;
mod wait;

use std::time::Duration;

use contracts::OperationId;

use crate::StoredResponse;

pub use conclude::{Conclusion, conclude};
pub use operation::{OperationRecord, OperationState, operation};
pub use start::start;

/// How long a caller waits for the outcome of a phased command, and what it gets if there is none by then.
#[derive(Debug, Clone, Copy)]
pub struct WaitPolicy {
    /// Counted from the beginning of the try, on the database's clock where another process asks.
    pub limit: Duration,
    /// The receipt of an operation whose outcome is still to come: 202, and where to look.
    pub receipt: fn(OperationId) -> StoredResponse,
}
