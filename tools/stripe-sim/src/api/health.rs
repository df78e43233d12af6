//! Whether the process lives, and whether it can serve.

use actix_web::{HttpResponse, get, web};
use serde_json::json;

use crate::processor::Processor;
use crate::store;

/// 200 as long as the process answers.
#[get("/health/live")]
pub(crate) async fn live() -> HttpResponse {
    HttpResponse::Ok().json(json!({ "status": "live" }))
}

/// 200 if the books can be read, else 503.
#[get("/health/ready")]
pub(crate) async fn ready(processor: web::Data<Processor>) -> HttpResponse {
    let database = processor.database.clone();
    let read = async move { store::check(&mut database.connection().await?).await };
    match processor.database.detach(read).await.flatten() {
        Ok(()) => HttpResponse::Ok().json(json!({ "status": "ready" })),
        Err(error) => {
            tracing::debug!(%error, "not ready");
            let waits_for = "PostgreSQL, with the tables of migrations/provider";
            HttpResponse::ServiceUnavailable().json(json!({ "status": "waiting", "for": waits_for }))
        }
    }
}
