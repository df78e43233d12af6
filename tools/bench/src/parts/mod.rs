//! What is measured, one subject a folder or a file.

pub(crate) mod inbox;
pub(crate) mod journey;
pub(crate) mod place;
pub(crate) mod relay;

mod bare;
mod orders;
