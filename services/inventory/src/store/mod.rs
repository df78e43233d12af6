//! All SQL of this service, one table a file (a reservation with its lines). Decides nothing, and knows nothing of HTTP.

pub(crate) mod erasure;
pub(crate) mod items;
pub(crate) mod movements;
pub(crate) mod reservations;
pub(crate) mod stock;

#[cfg(test)]
mod other_tenant;

database::stored_as_text!(crate::domain::State);

/// The error for a column whose value this program does not write.
fn unreadable(column: &'static str) -> database::Error {
    diesel::result::Error::DeserializationError(format!("{column} is not readable").into()).into()
}
