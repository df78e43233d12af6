//! Typed ids, so that the compiler refuses an order's id where a payment's is expected.

use envelope::{PathSegment, TenantId, id};
use uuid::Uuid;

use crate::Sku;

id! {
    /// An order, and the partition key of everything that concerns it.
    OrderId
}
id! {
    /// An item of the catalogue, unique over all tenants.
    ItemId
}

impl PathSegment for OrderId {
    const RESOURCE: &'static str = "order";
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
