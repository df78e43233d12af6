//! Commands: the extractors that prepare a command, and the executors that they call.
//!
//! An extractor checks token, rate limit, body, key and fingerprint before the handler runs, and stores nothing for a
//! request that fails there. The body is parsed after the key lookup, so that a stricter rule does not refuse the retry
//! of an earlier success.

mod command_error;
mod command_request;
mod idempotent;
mod natural;
mod not_null;
mod outcome_response;
mod reply;

pub use command_error::CommandError;
pub use command_request::{Command, CommandRequest};
pub use idempotent::Idempotent;
pub use natural::Natural;
pub use not_null::not_null;
pub(crate) use outcome_response::key_in_progress;
pub use reply::Reply;

/// The header with the key of a command.
const KEY_HEADER: &str = "idempotency-key";
