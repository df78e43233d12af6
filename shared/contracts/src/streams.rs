//! The streams of events, one for each service that publishes some.

use envelope::Stream;

/// Published by `orders`.
pub const ORDERS: Stream = Stream::of("orders");
/// Published by `inventory`.
pub const INVENTORY: Stream = Stream::of("inventory");
/// Published by `payments`.
pub const PAYMENTS: Stream = Stream::of("payments");

/// All of them.
pub const ALL: [Stream; 3] = [ORDERS, INVENTORY, PAYMENTS];
