//! A typed part of the path. What cannot be an id of ours names nothing of ours: 404.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use contracts::{OperationId, OrderId, PaymentId, RefundId, Sku};
use uuid::Uuid;

use crate::Problem;

/// The one variable segment of a route, such as the id in `/v1/orders/{id}`.
#[derive(Debug, Clone)]
pub struct Segment<T>(pub T);

/// A type that a path segment may be.
pub trait FromSegment: Sized {
    /// What people call it, for the 404.
    const WHAT: &'static str;

    /// Reads it.
    fn from_segment(text: &str) -> Option<Self>;
}

macro_rules! id {
    ($id:ident, $what:literal) => {
        impl FromSegment for $id {
            const WHAT: &'static str = $what;
            fn from_segment(text: &str) -> Option<Self> {
                Uuid::parse_str(text).ok().map(Self::from)
            }
        }
    };
}

id!(OrderId, "order");
id!(PaymentId, "payment");
id!(RefundId, "refund");
id!(OperationId, "operation");

impl FromSegment for Sku {
    const WHAT: &'static str = "item";
    fn from_segment(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl<T: FromSegment> FromRequest for Segment<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let segment = request.match_info().iter().next().and_then(|(_, text)| T::from_segment(text));
        ready(segment.map(Self).ok_or_else(|| Problem::not_found(T::WHAT)))
    }
}
