//! `/_faults`: what goes wrong from now on, and how often it has. Needs no API key; it is not part of the protocol.

use actix_web::{HttpResponse, delete, get, post, web};
use serde_json::json;

use crate::faults::Change;
use crate::processor::Processor;

/// What is set, and how often it bit.
#[get("/_faults")]
pub(crate) async fn show(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(processor.faults.state())
}

/// Sets the rules that the body holds, in the place of those before.
#[post("/_faults")]
pub(crate) async fn set(processor: web::Data<Processor>, body: web::Bytes) -> HttpResponse {
    let change: Result<Change, String> = serde_json::from_slice(&body).map_err(|error| error.to_string());
    match change.and_then(|change| processor.faults.change(change)) {
        Ok(state) => {
            tracing::warn!(%state, "faults were set");
            HttpResponse::Ok().json(state)
        }
        Err(why) => HttpResponse::BadRequest().json(json!({ "error": { "message": why } })),
    }
}

/// Ends every fault and forgets the bites.
#[delete("/_faults")]
pub(crate) async fn clear(processor: web::Data<Processor>) -> HttpResponse {
    HttpResponse::Ok().json(processor.faults.clear())
}
