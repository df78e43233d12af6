//! What the service does by itself, on a timer. Each job calls `transitions` as a request would.

pub(crate) mod expire_orders;
