//! What `parcels` publishes. No other service consumes it. The service that does needs these types in `contracts`: move this file there.

use contracts::OrderId;
use envelope::{Event, PathSegment, Stream, id};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Published by `parcels`.
pub const STREAM: Stream = Stream::of("parcels");

id! {
    /// A parcel of an order.
    ParcelId
}

impl ParcelId {
    /// The id of an order's parcel is that of the order.
    pub fn of(order: OrderId) -> Self {
        Self(order.uuid())
    }
}

impl PathSegment for ParcelId {
    const RESOURCE: &'static str = "parcel";
}

/// A client completed the parcel of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParcelCompleted {
    /// The parcel.
    pub parcel: ParcelId,
    /// Its order.
    pub order: OrderId,
}

impl Event for ParcelCompleted {
    const TYPE: &'static str = "parcels.ParcelCompleted.v1";
    const STREAM: Stream = STREAM;
    const AGGREGATE: &'static str = "parcel";

    fn aggregate(&self) -> Uuid {
        self.parcel.uuid()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_completed_parcel_is_published_in_this_form() {
        let order = OrderId::from(Uuid::from_u128(10));
        let event = ParcelCompleted { parcel: ParcelId::of(order), order };
        let id = "00000000-0000-0000-0000-00000000000a";
        assert_eq!(serde_json::to_value(event).unwrap(), json!({ "parcel": id, "order": id }));
    }
}
