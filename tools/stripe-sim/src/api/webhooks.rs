//! `/_webhooks`: who is told of events, beside the endpoints of the configuration. Needs no API key; it is not part of the
//! protocol, whose own endpoints draw their secrets by lot, which nobody who must start first can know.

use actix_web::{HttpResponse, delete, get, post, web};
use serde_json::json;

use crate::processor::Processor;
use crate::settings::Endpoint;

/// The endpoints, without their secrets.
#[get("/_webhooks")]
pub(crate) async fn show(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(json!({ "endpoints": processor.endpoints.urls() }))
}

/// Adds an endpoint, or gives one other secrets. Events that were planned before are not sent to it.
#[post("/_webhooks")]
pub(crate) async fn set(processor: web::Data<Processor>, body: web::Bytes) -> HttpResponse {
    match Endpoint::parse(&body) {
        Ok(endpoint) => {
            processor.endpoints.set(endpoint);
            HttpResponse::Ok().json(json!({ "endpoints": processor.endpoints.urls() }))
        }
        Err(why) => HttpResponse::BadRequest().json(json!({ "error": { "message": why } })),
    }
}

/// Forgets every endpoint. What was planned for one waits until it is set again.
#[delete("/_webhooks")]
pub(crate) async fn clear(processor: web::Data<Processor>) -> HttpResponse {
    processor.endpoints.clear();
    HttpResponse::Ok().json(json!({ "endpoints": [] }))
}
