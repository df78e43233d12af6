//! `Segment`: a typed segment of the path. A segment that is no valid id gets 404, as an unknown id does.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use contracts::{OperationId, OrderId, PaymentId, RefundId, Sku};
use uuid::Uuid;

use crate::Problem;

/// The variable segment of a route, such as the id in `/v1/orders/{id}`.
#[derive(Debug, Clone)]
pub struct Segment<T>(pub T);

/// A type of path segment.
pub trait FromSegment: Sized {
    /// The resource's name in the 404.
    const NAME: &'static str;

    /// Reads the segment; `None` if it is not valid.
    fn from_segment(text: &str) -> Option<Self>;
}

macro_rules! uuid_segment {
    ($id:ident, $name:literal) => {
        impl FromSegment for $id {
            const NAME: &'static str = $name;
            fn from_segment(text: &str) -> Option<Self> {
                Uuid::parse_str(text).ok().map(Self::from)
            }
        }
    };
}

uuid_segment!(OrderId, "order");
uuid_segment!(PaymentId, "payment");
uuid_segment!(RefundId, "refund");
uuid_segment!(OperationId, "operation");

impl FromSegment for Sku {
    const NAME: &'static str = "item";
    fn from_segment(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl<T: FromSegment> FromRequest for Segment<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let segment = request.match_info().iter().next().and_then(|(_, text)| T::from_segment(text));
        ready(segment.map(Self).ok_or_else(|| Problem::not_found(T::NAME)))
    }
}
