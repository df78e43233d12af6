//! Webhook events of the processor: verifies, reads and stores them.
//!
//! The content of an event changes nothing. It only triggers a lookup, and the processor's response to the lookup
//! counts. Events may therefore be repeated, late, out of order or missing.

mod event;
#[cfg(test)]
mod fuzz;
mod signature;
mod store_event;

pub(crate) use event::Event;
pub(crate) use signature::{SignatureError, verify};
pub(crate) use store_event::store_event;
