//! All SQL of this service, one table a file.

pub(crate) mod catalogue;
pub(crate) mod orders;
