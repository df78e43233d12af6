//! `Segment`: a typed segment of the path. A segment that is no valid id gets 404, as an unknown id does.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use envelope::PathSegment;

use crate::Problem;

/// The variable segment of a route, such as the id in `/v1/orders/{id}`.
#[derive(Debug, Clone)]
pub struct Segment<T>(pub T);

impl<T: PathSegment> FromRequest for Segment<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    /// actix-web calls this function for every argument of a handler before it polls the first one. A command's fingerprint
    /// therefore has the canonical spelling.
    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let segment: Option<T> = request.match_info().iter().next().and_then(|(_, text)| text.parse().ok());
        if let Some(segment) = &segment {
            request.extensions_mut().insert(CanonicalSegment(segment.to_string()));
        }
        ready(segment.map(Self).ok_or_else(|| Problem::not_found(T::RESOURCE)))
    }
}

struct CanonicalSegment(String);

/// Names and values of the path's variable segments. An id that a [`Segment`] has read is in its canonical spelling: RFC 9562
/// lets a client write a UUID in upper case, and some languages do.
pub(crate) fn path_parameters(request: &HttpRequest) -> Vec<(String, String)> {
    let mut parameters: Vec<(String, String)> =
        request.match_info().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if let (Some((_, value)), Some(CanonicalSegment(canonical))) =
        (parameters.first_mut(), request.extensions().get())
    {
        value.clone_from(canonical);
    }
    parameters
}
