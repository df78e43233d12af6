//! The routes that Stripe does not have: `/_faults`, `/_webhooks` and health. They need no API key, so `/_faults` and `/_webhooks`
//! refuse web pages.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::ORIGIN;
use actix_web::middleware::{Next, from_fn};
use actix_web::{Error, HttpResponse, delete, get, post, web};
use serde_json::json;

use crate::faults::RuleSet;
use crate::processor::Processor;
use crate::settings::Endpoint;
use crate::store;

/// Refuses a request with the header `Origin`. A browser adds it to every POST and DELETE of a page, and no page can remove it.
async fn refuse_pages(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    if request.headers().contains_key(ORIGIN) {
        let message =
            "a web page may not use this route: send the request by a program, without the header Origin";
        let refused = HttpResponse::Forbidden().json(json!({ "error": { "message": message } }));
        return Ok(request.into_response(refused));
    }
    Ok(next.call(request).await?.map_into_boxed_body())
}

#[get("/_faults", wrap = "from_fn(refuse_pages)")]
pub(super) async fn show_faults(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(processor.faults.state())
}

/// Replaces the rules.
#[post("/_faults", wrap = "from_fn(refuse_pages)")]
pub(super) async fn set_faults(processor: web::Data<Processor>, body: web::Bytes) -> HttpResponse {
    let rules: Result<RuleSet, String> = serde_json::from_slice(&body).map_err(|error| error.to_string());
    match rules.and_then(|rules| processor.faults.set(rules)) {
        Ok(state) => {
            tracing::warn!(%state, "faults were set");
            HttpResponse::Ok().json(state)
        }
        Err(message) => HttpResponse::BadRequest().json(json!({ "error": { "message": message } })),
    }
}

/// Removes every rule, and sets the counts to zero.
#[delete("/_faults", wrap = "from_fn(refuse_pages)")]
pub(super) async fn clear_faults(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(processor.faults.clear())
}

/// Shows the endpoints without their secrets.
#[get("/_webhooks", wrap = "from_fn(refuse_pages)")]
pub(super) async fn show_endpoints(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "endpoints": processor.endpoints.urls() }))
}

/// Adds an endpoint, or replaces the secret of one. Events that are already planned are not sent to it.
///
/// Stripe chooses the secrets of its endpoints. Here the receiver chooses, because it may start before the sender.
#[post("/_webhooks", wrap = "from_fn(refuse_pages)")]
pub(super) async fn add_endpoint(processor: web::Data<Processor>, body: web::Bytes) -> HttpResponse {
    match Endpoint::parse(&body) {
        Ok(endpoint) => {
            processor.endpoints.add(endpoint);
            HttpResponse::Ok().json(json!({ "endpoints": processor.endpoints.urls() }))
        }
        Err(message) => HttpResponse::BadRequest().json(json!({ "error": { "message": message } })),
    }
}

/// Removes every endpoint. Deliveries that are planned for one wait until it is added again.
#[delete("/_webhooks", wrap = "from_fn(refuse_pages)")]
pub(super) async fn clear_endpoints(processor: web::Data<Processor>) -> HttpResponse {
    processor.endpoints.clear();
    HttpResponse::Ok().json(json!({ "endpoints": [] }))
}

/// 200 as long as the process answers.
#[get("/health/live")]
pub(super) async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "live" }))
}

/// 200 if the tables can be read, otherwise 503.
#[get("/health/ready")]
pub(super) async fn ready(processor: web::Data<Processor>) -> HttpResponse {
    let database = processor.database.clone();
    let read = async move { store::check(&mut database.connection().await?).await };
    match processor.database.detach(read).await.flatten() {
        Ok(()) => HttpResponse::Ok().json(json!({ "status": "ready" })),
        Err(error) => {
            tracing::debug!(%error, "not ready");
            let waits_for = "PostgreSQL, with the tables of tools/stripe-sim/migrations";
            HttpResponse::ServiceUnavailable().json(json!({ "status": "waiting", "for": waits_for }))
        }
    }
}
