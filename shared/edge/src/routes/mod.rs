//! The routes that every service has: keys, operations, documentation, and the default for unknown paths.

mod docs;
mod fence_idempotency_key;
mod get_idempotency_key;
mod get_operation;
mod unmatched;

pub(crate) use get_operation::accepted;

pub use docs::docs;
pub use get_idempotency_key::idempotency_keys;
pub use get_operation::{AcceptedOperation, operations};
pub use unmatched::unmatched;
