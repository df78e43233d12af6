//! Orders and their money: each end, late charges, refunds, reconciliation, secrets, and the way of an order to the processor.

mod ends;
mod erased;
mod late;
mod reconcile;
mod released;
mod secrets;
mod spans;
