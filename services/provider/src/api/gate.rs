//! What every request of the protocol meets before its route: the outage that a test asked for, then the API key.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, ResponseError, web};

use crate::error::Refusal;
use crate::processor::Processor;
use crate::store::new_id;

/// Lets the request through, or refuses it; and gives every answer its `Request-Id`.
pub(crate) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = new_id("req");
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let mut response = match admit(&request) {
        // A handler's error is already its answer here.
        Ok(()) => next.call(request).await?.map_into_boxed_body(),
        Err(refusal) => request.into_response(refusal.error_response()),
    };
    tracing::debug!(%method, path, request_id, status = response.status().as_u16(), "answered");
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(HeaderName::from_static("request-id"), value);
    }
    Ok(response)
}

fn admit(request: &ServiceRequest) -> Result<(), Refusal> {
    let processor = request.app_data::<web::Data<Processor>>();
    if processor.is_some_and(|processor| processor.faults.is_out()) {
        return Err(Refusal::unavailable("An outage was asked for on /_faults. Nothing was executed."));
    }
    let Some(authorization) = request.headers().get(AUTHORIZATION) else {
        return Err(Refusal::unauthorized(
            "You did not provide an API key. You need to provide your API key in the Authorization header, using \
             Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY').",
        ));
    };
    // Any test key will do: there is one account.
    let key = authorization.to_str().ok().and_then(|value| value.strip_prefix("Bearer "));
    match key.and_then(|key| key.trim().strip_prefix("sk_test_")) {
        Some(rest) if !rest.is_empty() => Ok(()),
        _ => Err(Refusal::unauthorized("Invalid API Key provided: it must be a test key, sk_test_….")),
    }
}
