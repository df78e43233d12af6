//! All SQL of the service.

pub(crate) mod intents;
pub(crate) mod ledger;
pub(crate) mod ledger_checks;
pub(crate) mod payments;
pub(crate) mod reconciliation;
pub(crate) mod refunds;
pub(crate) mod reviews;
pub(crate) mod seals;
pub(crate) mod webhook_events;

/// The row is not one that this program writes.
fn unreadable(column: &str) -> database::Error {
    diesel::result::Error::DeserializationError(format!("{column} is not readable").into()).into()
}
