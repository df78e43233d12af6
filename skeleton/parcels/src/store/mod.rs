//! All SQL of this service, one table a file. Decides nothing, and knows nothing of HTTP.

pub(crate) mod parcels;

#[cfg(test)]
mod other_tenant;

database::stored_as_text!(crate::domain::State);
