//! The background jobs of the service. Each job calls `transitions`, as a request does.

pub(crate) mod expire_orders;
