//! Lets a fault hit a request: finds the fault of the call, and changes the call or its response accordingly.

use actix_web::body::{BoxBody, MessageBody, to_bytes};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderValue, RETRY_AFTER};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError, web};

use super::body;
use super::call::{MAX_BODY, is_too_large};
use crate::faults::{CallFault, Fault, Kind, Target};
use crate::processor::{Processor, RequestContext};
use crate::protocol::{ApiError, Error as RequestError};
use crate::store::{intents, refunds};

/// Passes the request on, with the fault that hits it, if any.
pub(super) async fn handle(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
    request_id: &str,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let Some(processor) = request.app_data::<web::Data<Processor>>().cloned() else {
        return Ok(request.into_response(ApiError::internal().error_response()));
    };
    let fault = match find(&processor, &mut request).await {
        Ok(fault) => fault,
        Err(error) => return Ok(request.into_response(error.error_response())),
    };
    let mut context = RequestContext { request_id: request_id.to_owned(), ..RequestContext::default() };
    if let Some(fault) = fault {
        tracing::warn!(kind = ?fault.kind, path = request.path(), "a fault hits this call, as a test asked");
        if let Some(refused) = refused(fault.kind) {
            return Ok(request.into_response(refused));
        }
        let mut delay = if fault.kind == Kind::Delay { fault.delay } else { std::time::Duration::ZERO };
        if *request.method() != Method::POST {
            tokio::time::sleep(std::mem::take(&mut delay)).await;
        }
        // A command waits by itself, because it must hold its key meanwhile.
        context.fault = CallFault {
            delay,
            fails_after: fault.kind == Kind::ErrorAfter,
            lacks_balance: fault.kind == Kind::BalanceInsufficient,
        };
    }
    request.extensions_mut().insert(context);
    // An error of the handler has become a response by now.
    let response = next.call(request).await?.map_into_boxed_body();
    match fault {
        Some(fault) => change(fault.kind, response).await,
        None => Ok(response),
    }
}

/// The fault that hits the call. Without rules for calls, the reference is not looked up.
async fn find(
    processor: &web::Data<Processor>,
    request: &mut ServiceRequest,
) -> Result<Option<Fault>, RequestError> {
    if !processor.faults.concern_calls() {
        return Ok(None);
    }
    let route = route(request.method().as_str(), request.path());
    let reference = reference(processor, request).await?;
    Ok(processor.faults.next(Target::Call, &route, &reference))
}

/// The name of the route, as `ROUTES` has it.
fn route(method: &str, path: &str) -> String {
    let parts = path.split('/').enumerate().map(|(at, part)| if at == 3 { "{id}" } else { part });
    format!("{method} {}", parts.collect::<Vec<_>>().join("/"))
}

/// The `metadata[reference]` of the payment that the call is about; empty if there is none, as for a list.
///
/// A refund has the reference of its payment. Clients choose the ids of refunds at random, so a second run would count
/// other calls.
async fn reference(
    processor: &web::Data<Processor>,
    request: &mut ServiceRequest,
) -> Result<String, RequestError> {
    let form = form(request).await;
    let value = |name: &str| form.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone());
    let id = request.path().split('/').nth(3).map(str::to_owned).or_else(|| value("payment_intent"));
    let Some(id) = id.filter(|id| !id.contains('\0')) else {
        return Ok(value("metadata[reference]").unwrap_or_default());
    };
    let database = processor.database.clone();
    let look_up = async move {
        let mut tx = database.begin().await?;
        let refund = refunds::find(&mut tx, &id).await?;
        let intent =
            intents::find(&mut tx, refund.as_ref().map_or(&id, |refund| &refund.payment_intent)).await?;
        tx.rollback().await?;
        let reference = intent.as_ref().and_then(|intent| intent.metadata["reference"].as_str());
        Ok::<_, RequestError>(reference.unwrap_or_default().to_owned())
    };
    processor.database.detach(look_up).await?
}

/// Reads the form, and puts the body back for the handler, which refuses a body that is too large.
async fn form(request: &mut ServiceRequest) -> Vec<(String, String)> {
    if is_too_large(request.headers()) {
        return Vec::new();
    }
    let Ok(payload) = request.extract::<web::Payload>().await else { return Vec::new() };
    let body = payload.to_bytes_limited(MAX_BODY + 1).await.ok().and_then(Result::ok).unwrap_or_default();
    let form = serde_urlencoded::from_bytes(&body).unwrap_or_default();
    request.set_payload(Payload::from(body));
    form
}

/// The response of a fault that lets nothing be executed.
fn refused(kind: Kind) -> Option<HttpResponse> {
    let error = match kind {
        Kind::ErrorBefore => ApiError::internal(),
        Kind::RateLimit => ApiError::too_many(),
        Kind::Conflict => ApiError::conflict(),
        Kind::Outage => ApiError::unavailable(),
        _ => return None,
    };
    let mut response = error.error_response();
    if kind == Kind::RateLimit {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    Some(response)
}

/// Changes the response of a call that was executed.
async fn change(kind: Kind, response: ServiceResponse<BoxBody>) -> Result<ServiceResponse<BoxBody>, Error> {
    let (request, response) = response.into_parts();
    let response = match kind {
        // A replayed response is replaced too: the fault hits the call, not the operation.
        Kind::ErrorAfter => ApiError::internal().error_response(),
        Kind::DropReply => body::dropped(),
        Kind::Truncate => {
            let status = response.status();
            body::truncated(status, &to_bytes(response.into_body()).await.unwrap_or_default())
        }
        _ => response,
    };
    Ok(ServiceResponse::new(request, response))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ROUTES;

    #[test]
    fn a_path_is_known_by_its_route() {
        for (method, path) in [
            ("POST", "/v1/payment_intents"),
            ("GET", "/v1/payment_intents/pi_1"),
            ("POST", "/v1/payment_intents/pi_1/cancel"),
            ("GET", "/v1/refunds/re_1"),
        ] {
            let route = route(method, path);
            assert!(ROUTES.contains(&route.as_str()), "{route}");
        }
    }
}
