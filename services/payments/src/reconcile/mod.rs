//! Reconciliation: compares our records with the processor's, and starts what settles each difference.
//!
//! The processor's lists are read before our tables. Because a call is committed before its request is sent, each object
//! that a list contains is then in our tables, and no regular charge looks like an orphan.
//!
//! A difference that the processor can settle leads to a lookup. Every other difference opens a review. Reconciliation
//! never moves money.

mod read;
mod report;
mod run;

pub(crate) use read::ReconcileError;
pub(crate) use report::Report;
pub(crate) use run::{Start, reconcile};
