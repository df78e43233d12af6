//! Refusals and replays of the control, and what all responses have.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderName;
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse};
use serde_json::json;

use crate::control::Instance;
use crate::defect::Defect;
use crate::keys::Stored;

/// A refusal as the target file has it.
pub(crate) fn refusal(status: u16, code: &str, retry_after: bool) -> Stored {
    let body = json!({"type": format!("/problems/{code}"), "status": status, "code": code}).to_string();
    let mut headers = vec![("Content-Type", "application/problem+json".to_owned())];
    headers.extend(retry_after.then(|| ("Retry-After", "1".to_owned())));
    Stored { status, headers, body }
}

pub(crate) fn replay(instance: &Instance, mut stored: Stored) -> HttpResponse {
    let has = |defect| instance.defect == Some(defect);
    stored.headers.push(("Idempotency-Original-Date", "2026-11-23T00:00:00Z".to_owned()));
    if has(Defect::RespondsToRetriesWith200) && stored.status < 300 {
        stored.status = 200;
    }
    let dropped = match instance.defect {
        Some(Defect::DropsHeaders) => "Location",
        Some(Defect::DropsACustomHeader) => "X-Receipt",
        _ => "",
    };
    stored.headers.retain(|(name, _)| *name != dropped);
    if has(Defect::MakesAnotherETag) {
        stored.headers.push(("ETag", "\"another\"".to_owned()));
    }
    if !has(Defect::DoesNotMarkReplays) {
        stored.headers.push(("Idempotent-Replayed", "true".to_owned()));
    }
    if has(Defect::ReplaysCookies) {
        stored.headers.push(("Set-Cookie", "session=1".to_owned()));
    }
    if has(Defect::ReserialisesTheBody) {
        stored.body = stored.body.replace(':', ": ");
    }
    if has(Defect::ReplaysTheCurrentState)
        && instance.memory.changed.lock().unwrap().iter().any(|id| stored.body.contains(id))
    {
        stored.body = stored.body.replace("\"new\"", "\"changed\"");
    }
    stored.send()
}

/// Adds the key of each request to its response.
pub(crate) async fn name_key(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let key = request.headers().get("Idempotency-Key").cloned();
    let mut response = next.call(request).await?;
    if let Some(key) = key {
        response.headers_mut().insert(HeaderName::from_static("idempotency-key"), key);
    }
    Ok(response)
}
