//! `Segment`: a typed segment of the path. A segment that is no valid id gets 404, as an unknown id does.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use envelope::PathSegment;

use crate::Problem;

/// The variable segment of a route, such as the id in `/v1/orders/{id}`.
#[derive(Debug, Clone)]
pub struct Segment<T>(pub T);

impl<T: PathSegment> FromRequest for Segment<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let segment = request.match_info().iter().next().and_then(|(_, text)| text.parse().ok());
        ready(segment.map(Self).ok_or_else(|| Problem::not_found(T::RESOURCE)))
    }
}
