//! Two additions to the generated clients: the retry policy, and commands that a client cannot forget.

pub mod remember;
pub mod retries;
pub mod store;
