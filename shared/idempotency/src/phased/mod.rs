//! Phased commands: commands with an effect outside this database. One transaction accepts the command, a worker carries
//! it out, and another transaction concludes it.
//!
//! Every transition is an `UPDATE … WHERE state = …`. Of two transitions that race, one finds the row in its state, and
//! the other reads the record again. A response is stored once; later transitions change the state only. So a process
//! that dies at any point leaves a state from which another process continues.
//!
//! | from | to | moved by | stored response |
//! |---|---|---|---|
//! | – | `started` | [`start`]: the command's own rows are written with the record | – |
//! | – | `completed` | [`start`]: a business rule rejected the command | the rejection |
//! | `started` | `completed` | [`conclude`]: succeeded or failed | the final response |
//! | `started` | `unknown` | [`start`]: the wait limit is over, found by the handler or by a retry | 202 |
//! | `started` | `failed_retryable` | [`conclude`]: proved to have no effect | – |
//! | `failed_retryable` | `started` | [`start`]: a retry, under the same operation | – |
//! | `failed_retryable` | `completed` | [`conclude`]: no retry came in time | the final response |
//! | `started`, `failed_retryable` | `failed_terminal` | [`conclude`]: can never be carried out | the final response |
//! | `unknown` | `completed`, `failed_terminal` | [`conclude`] | stays 202 |
//! | `completed`, `failed_terminal` | a tombstone | `erasure/`: the response has expired | – |
//!
//! The operation row has a state of its own, because the stored response may be a 202 that is older than the outcome:
//! `running`, `unknown` while an effect is in doubt, then `succeeded` or `failed` with the final response.
//!
//! What goes wrong without it: a charge inside the transaction of the command is made although the transaction is rolled back, and
//! the retry charges again. A connection and its row locks are held for as long as the processor takes.

mod conclude;
mod operation;
mod start;
mod store;
mod wait;

use std::time::Duration;

use database::{Tx, UnitOfWork};
use envelope::OperationId;

use crate::StoredResponse;
use crate::metrics::{IdempotencyMetrics, OperationStep};

pub use conclude::{Conclusion, conclude};
pub use operation::{OperationRecord, operation};
pub use start::start;
pub use store::OperationState;
pub(crate) use store::idempotency_operation;

/// How long a caller waits for the outcome of a phased command, and the response if there is no outcome by then.
#[derive(Debug, Clone, Copy)]
pub struct WaitPolicy {
    /// The limit, counted from the start of the attempt. A retry in another process compares it with the database's
    /// clock.
    pub limit: Duration,
    /// Builds the response 202 for an operation without an outcome.
    pub accepted: fn(OperationId) -> StoredResponse,
}

/// Counts a step of an operation once the transaction has committed.
fn count_after_commit(tx: &mut Tx, step: OperationStep) {
    tx.count_after_commit(move |metrics: &IdempotencyMetrics| metrics.operations.count(step));
}
