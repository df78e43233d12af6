//! `Sku`: the name of an item.

envelope::name! {
    /// A stock keeping unit: an item's name within its tenant.
    Sku, "SKU"
}

impl envelope::PathSegment for Sku {
    const RESOURCE: &'static str = "item";
}
