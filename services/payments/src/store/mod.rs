//! All SQL of the service.

pub(crate) mod intents;
pub(crate) mod payments;
pub(crate) mod refunds;

/// The row is not one that this program writes.
fn unreadable(column: &str) -> database::Error {
    diesel::result::Error::DeserializationError(format!("{column} is not readable").into()).into()
}
