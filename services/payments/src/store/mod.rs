//! All SQL of the service, one module for each table or question.
//!
//! Rows are read into typed values. A value that this release cannot read is an error, never a default.

/// Adds these columns to a write of rows whose fields have their names.
macro_rules! columns {
    ($write:expr, $table:ident: $($column:ident),+ $(,)?) => {
        $write$(.column($table::$column, |row| Clone::clone(&row.$column)))+
    };
}

pub(crate) mod balances;
pub(crate) mod calls;
pub(crate) mod erasure;
pub(crate) mod ledger;
pub(crate) mod payments;
pub(crate) mod readings;
pub(crate) mod reconciliation;
pub(crate) mod refunds;
pub(crate) mod reviews;
pub(crate) mod webhook_events;

#[cfg(test)]
mod other_tenant;

use crate::domain::ledger::{Account, PostingKind};
use crate::domain::review::{Reason, Resolution};
use crate::domain::{CallKind, CallMode, payment, refund};

database::stored_as_text!(
    Account,
    CallKind,
    CallMode,
    PostingKind,
    Reason,
    Resolution,
    payment::Status,
    refund::Status
);
