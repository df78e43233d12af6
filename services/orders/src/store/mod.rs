//! All SQL of this service, one table a file.

pub(crate) mod catalogue;
pub(crate) mod orders;
pub(crate) mod timeline;

/// The row is not one that this program writes.
fn unreadable(column: &'static str) -> database::Error {
    diesel::result::Error::DeserializationError(format!("{column} is not readable").into()).into()
}
