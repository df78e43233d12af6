//! Ids that cannot be mistaken for one another: an order's id does not fit where a payment's is wanted.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Sku, TenantId};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new id, ordered by the time of its making (UUIDv7).
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// The plain UUID, for SQL and headers.
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// An event: the same in the outbox, on the topic and in every inbox.
    EventId
}
id! {
    /// An accepted intent: from the idempotency record to the audit fact.
    OperationId
}
id! {
    /// An order, and the partition key of everything that concerns it.
    OrderId
}
id! {
    /// A payment; for an order it is made by `orders`, so that asking twice names the same payment.
    PaymentId
}
id! {
    /// A refund of a payment.
    RefundId
}
id! {
    /// An item of the catalogue, unique over all tenants.
    ItemId
}

/// Names the space of item ids; any fixed value serves, as long as it never changes.
const ITEMS: Uuid = Uuid::from_u128(0x6964_656d_2d69_7465_6d73_0000_0000_0001);

impl ItemId {
    /// The id of a tenant's SKU (UUIDv5): the same everywhere, without asking anybody.
    pub fn of(tenant: &TenantId, sku: &Sku) -> Self {
        // '/' is in neither name, so two different pairs never join to the same text.
        Self(Uuid::new_v5(&ITEMS, format!("{tenant}/{sku}").as_bytes()))
    }
}
