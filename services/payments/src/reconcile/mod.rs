//! Reconciliation: compares our records with the processor's, and starts what decides each difference.
//!
//! Each page of the processor's lists is read before our records of its objects. Because a call is committed before its request
//! is sent, each object of the page is then in our tables, and no regular charge looks like an orphan. `store/compare.sql` gives
//! the verdicts.
//!
//! A difference that the processor can decide leads to a lookup. Every other difference opens a review. Reconciliation
//! never moves money.

mod list;
mod report;
mod run;

pub(crate) use list::ReconcileError;
pub(crate) use run::{Start, reconcile};
