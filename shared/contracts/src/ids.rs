//! Typed ids, so that the compiler refuses an order's id where a payment's is expected.

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
            /// A new id (UUIDv7), ordered by its creation time.
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
    /// An accepted request: idempotency record, operation and audit fact have the same id.
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

/// The UUIDv5 namespace of item ids. It must never change.
const ITEMS: Uuid = Uuid::from_u128(0x6964_656d_2d69_7465_6d73_0000_0000_0001);

impl ItemId {
    /// The id of a tenant's SKU (UUIDv5). Each service computes the same id without a request.
    pub fn of(tenant: &TenantId, sku: &Sku) -> Self {
        // Neither name can contain '/', so two different pairs never give the same text.
        Self(Uuid::new_v5(&ITEMS, format!("{tenant}/{sku}").as_bytes()))
    }
}
