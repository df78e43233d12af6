//! What every request of the protocol meets before its route and its answer after it: the API key, the faults that a test
//! asked for, and the headers that all answers have.

use actix_web::body::{BoxBody, MessageBody, to_bytes};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, ResponseError, web};

use crate::api::{REPLAYED, broken, meet};
use crate::faults::{Bite, Kind};
use crate::processor::{Circumstances, Processor};
use crate::protocol::{Refusal, VERSION};
use crate::store::new_id;

const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("stripe-should-retry");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Lets the request through, or refuses it, or does to it and its answer what a fault wants.
pub(crate) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = new_id("req");
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let echoed: Vec<(HeaderName, HeaderValue)> = [STRIPE_VERSION, IDEMPOTENCY_KEY]
        .into_iter()
        .filter_map(|name| Some((name.clone(), request.headers().get(&name)?.clone())))
        .collect();
    let mut response = match admit(&request) {
        Ok(()) => pass(request, next, &request_id).await?,
        Err(refusal) => request.into_response(refusal.error_response()),
    };
    let status = response.status();
    tracing::debug!(%method, path, request_id, status = status.as_u16(), "answered");
    let headers = response.headers_mut();
    headers.insert(STRIPE_VERSION, HeaderValue::from_static(VERSION));
    for (name, value) in echoed {
        headers.insert(name, value);
    }
    advise(headers, status);
    if let Ok(value) = HeaderValue::try_from(request_id) {
        headers.insert(REQUEST_ID, value);
    }
    Ok(response)
}

/// Says what the client's library should do, where its own rules would be wrong.
fn advise(headers: &mut HeaderMap, status: StatusCode) {
    let replayed = headers.contains_key(REPLAYED);
    let advice = match status.as_u16() {
        401 => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"Stripe\""));
            "false"
        }
        // A stored failure stays what it is under its key.
        500.. if replayed => "false",
        409 | 429 | 500.. => "true",
        400..=499 => "false",
        _ => return,
    };
    headers.insert(SHOULD_RETRY, HeaderValue::from_static(advice));
}

async fn pass(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    request_id: &str,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(processor) = request.app_data::<web::Data<Processor>>().cloned() else {
        return Ok(request.into_response(Refusal::internal().error_response()));
    };
    let (bite, mut met) = match meet::meet(&processor, &mut request).await {
        Ok(found) => found,
        Err(failure) => return Ok(request.into_response(failure.error_response())),
    };
    if let Some(bite) = bite {
        tracing::warn!(kind = ?bite.kind, path = request.path(), "a fault bites, as a test asked");
        if let Some(refused) = refused(bite) {
            return Ok(request.into_response(refused));
        }
        met.fails_after = bite.kind == Kind::ErrorAfter;
        if bite.kind == Kind::Delay && *request.method() == Method::POST {
            met.delay = bite.delay;
        } else if bite.kind == Kind::Delay {
            tokio::time::sleep(bite.delay).await;
        }
    }
    let of = Circumstances { stamp: None, request_id: request_id.to_owned(), met };
    request.extensions_mut().insert(of);
    // A handler's error is already its answer here.
    let response = next.call(request).await?.map_into_boxed_body();
    match bite {
        Some(bite) => spoil(bite, response).await,
        None => Ok(response),
    }
}

/// The answer of a fault that lets nothing be executed.
fn refused(bite: Bite) -> Option<actix_web::HttpResponse> {
    let refusal = match bite.kind {
        Kind::ErrorBefore => Refusal::internal(),
        Kind::RateLimit => Refusal::too_many(),
        Kind::Conflict => Refusal::conflict(),
        Kind::Outage => Refusal::unavailable("An outage was asked for on /_faults. Nothing was executed."),
        Kind::Disconnect => return Some(broken::withheld()),
        _ => return None,
    };
    let mut response = refusal.error_response();
    if bite.kind == Kind::RateLimit {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(bite.retry_after));
    }
    Some(response)
}

/// Does to the answer what the fault wants; what was executed stays so.
async fn spoil(bite: Bite, response: ServiceResponse<BoxBody>) -> Result<ServiceResponse<BoxBody>, Error> {
    let (request, response) = response.into_parts();
    let response = match bite.kind {
        // Also where the stored answer is another: the fault is in the answering.
        Kind::ErrorAfter => Refusal::internal().error_response(),
        Kind::DropReply => broken::withheld(),
        Kind::Truncate => {
            let status = response.status();
            broken::truncated(status, &to_bytes(response.into_body()).await.unwrap_or_default())
        }
        _ => response,
    };
    Ok(ServiceResponse::new(request, response))
}

fn admit(request: &ServiceRequest) -> Result<(), Refusal> {
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
