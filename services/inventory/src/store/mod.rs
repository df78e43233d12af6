//! All SQL of this service, one table a file (a reservation with its lines). Decides nothing, and knows nothing of HTTP.

pub(crate) mod erasure;
pub(crate) mod items;
pub(crate) mod movements;
pub(crate) mod reservations;
pub(crate) mod stock;

#[cfg(test)]
mod other_tenant;

database::stored_as_text!(crate::domain::State);
