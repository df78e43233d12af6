//! Routes the events of `orders` to `transitions`. Decides nothing and writes nothing.

use contracts::events;
use inbox::{Consumer, no_locks};

use crate::transitions;

/// The consumer `parcels`. A new parcel needs no lock: its id is made from the order's.
pub(crate) fn consumer() -> Consumer {
    Consumer::of("parcels")
        .on::<events::OrderConfirmed>(no_locks, async |tx, m| {
            transitions::create(tx, m.tenant(), m.order).await
        })
        .ignoring::<events::OrderPlaced>()
        .ignoring::<events::PaymentRequested>()
        .ignoring::<events::OrderCancelled>()
}
