//! Middleware that sets the headers of every response.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{CACHE_CONTROL, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage};
use tracing_actix_web::RequestId;

use super::cors::refusal_as_problem;
use super::unread_body::UnreadBody;
use crate::Problem;

/// Sets `Cache-Control: no-store`, because responses depend on the caller, `X-Content-Type-Options: nosniff`, and
/// `X-Request-Id`, which leads to the log. A problem has the request id in its body, too. The request id is not part of a
/// stored response: a replay has its own.
///
/// It also closes a connection whose request body was not read to its end.
///
/// # Errors
/// Those of the service behind it.
pub async fn response_headers(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = request.extensions().get::<RequestId>().map(ToString::to_string);
    let unread = UnreadBody::hold(&mut request);
    let response = refusal_as_problem(next.call(request).await?.map_into_boxed_body());
    let problem = response.response().error().and_then(|error| error.as_error::<Problem>());
    let problem = problem.map(|problem| problem.body(id.as_deref()));
    let mut response = response.map_body(|_, body| unread.until_sent(problem.map_or(body, BoxBody::new)));
    let headers = response.headers_mut();
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The id is a UUID, so it is always a valid header value.
    if let Some(id) = id.and_then(|id| HeaderValue::from_str(&id).ok()) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    Ok(response)
}
