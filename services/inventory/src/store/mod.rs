//! All SQL of this service, one subject a file.

pub(crate) mod items;
pub(crate) mod movements;
pub(crate) mod reservations;

/// The row is not one that this program writes.
fn unreadable(column: &'static str) -> database::Error {
    diesel::result::Error::DeserializationError(format!("{column} is not readable").into()).into()
}
