//! Wraps every request under `/v1`: checks the API key, lets a fault hit the request, and adds the headers that every
//! response of Stripe's API has.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use actix_web::middleware::Next;
use actix_web::{Error, ResponseError};

use super::{REPLAYED, faults};
use crate::protocol::{ApiError, VERSION};
use crate::store::new_id;

const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

pub(super) async fn handle(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = new_id("req");
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let echoed: Vec<(HeaderName, HeaderValue)> = [STRIPE_VERSION, IDEMPOTENCY_KEY]
        .into_iter()
        .filter_map(|name| Some((name.clone(), request.headers().get(&name)?.clone())))
        .collect();
    let mut response = match check_api_key(&request) {
        Ok(()) => faults::handle(request, next, &request_id).await?,
        Err(error) => request.into_response(error.error_response()),
    };
    let status = response.status();
    tracing::debug!(%method, path, request_id, status = status.as_u16(), "answered");
    let headers = response.headers_mut();
    headers.insert(STRIPE_VERSION, HeaderValue::from_static(VERSION));
    for (name, value) in echoed {
        headers.insert(name, value);
    }
    add_retry_advice(headers, status);
    if let Ok(value) = HeaderValue::try_from(request_id) {
        headers.insert(REQUEST_ID, value);
    }
    Ok(response)
}

/// Accepts every test key, because there is only one account.
fn check_api_key(request: &ServiceRequest) -> Result<(), ApiError> {
    let Some(authorization) = request.headers().get(AUTHORIZATION) else {
        return Err(ApiError::unauthorized(
            "You did not provide an API key. You need to provide your API key in the Authorization header, using \
             Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
        ));
    };
    let key = authorization.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    match key.and_then(|key| key.trim().strip_prefix("sk_test_")) {
        Some(rest) if !rest.is_empty() => Ok(()),
        _ => Err(ApiError::unauthorized("Invalid API Key provided: it must be a test key, sk_test_….")),
    }
}

/// Sets `Stripe-Should-Retry`, which overrides the client library's own rules.
fn add_retry_advice(headers: &mut HeaderMap, status: StatusCode) {
    let replayed = headers.contains_key(REPLAYED);
    let advice = match status.as_u16() {
        401 => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"Stripe\""));
            "false"
        }
        // A stored failure never changes under its key.
        500.. if replayed => "false",
        409 | 429 | 500.. => "true",
        400..=499 => "false",
        _ => return,
    };
    headers.insert(SHOULD_RETRY, HeaderValue::from_static(advice));
}
