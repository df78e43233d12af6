//! The operators' part that only this service has: its discard warnings.

pub(crate) mod discard_warnings;
