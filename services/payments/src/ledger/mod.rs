//! The ledger: what happened to money is written down in double entry, sealed into a hash chain, and verified.
//!
//! Everything is posted under the lock of its payment's row, in the transaction in which it happened: the ledger never
//! says more or less than the payment does.

pub(crate) mod chain;
mod record;
mod seal;
mod verify;

pub(crate) use record::{order_confirmed, payment_moved, refund_moved};
pub use seal::{SealError, Sealer};
pub(crate) use verify::Command;
