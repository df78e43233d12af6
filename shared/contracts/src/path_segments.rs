//! The ids and names that are segments of a URL's path.

use envelope::PathSegment;

use crate::{OrderId, PaymentId, RefundId, Sku};

impl PathSegment for OrderId {
    const RESOURCE: &'static str = "order";
}

impl PathSegment for PaymentId {
    const RESOURCE: &'static str = "payment";
}

impl PathSegment for RefundId {
    const RESOURCE: &'static str = "refund";
}

impl PathSegment for Sku {
    const RESOURCE: &'static str = "item";
}
