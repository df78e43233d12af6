//! The subjects of the benchmark: each has a file or a folder.

pub(crate) mod growth;
pub(crate) mod hostile;
pub(crate) mod inbox;
pub(crate) mod journey;
pub(crate) mod place;
pub(crate) mod relay;
pub(crate) mod scenarios;

mod bare_consumer;
mod bare_producer;
mod meter;
mod orders;
mod stack;
