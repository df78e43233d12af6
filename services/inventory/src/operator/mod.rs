//! What operators see of this service, beyond the commands that every service has.

pub(crate) mod discard_warnings;
