//! `GET /v1/idempotency-keys/{key}`: the records of a key, for a client that has lost its responses.

use std::collections::BTreeMap;

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use idempotency::{KeyRecords, records_of};
use utoipa::IntoResponses;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;
use utoipa_actix_web::service_config::ServiceConfig;

use super::fence_idempotency_key::fence_idempotency_key;
use crate::openapi::KeyInPath;
use crate::{Edge, Principal, Problem, problem_responses, problem_types as p};

/// Mounts `GET /v1/idempotency-keys/{key}` and the fence of a key.
pub fn idempotency_keys(app: &mut ServiceConfig<'_>) {
    app.service(idempotency_key).service(fence_idempotency_key);
}

/// The problems of this route. It needs no scope.
struct KeyRecordProblems;

impl IntoResponses for KeyRecordProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [&p::KEY_INVALID, &p::UNAUTHENTICATED, &p::NOT_FOUND];
        problem_responses(own.iter().chain(&[&p::RATE_LIMITED, &p::INTERNAL, &p::UNAVAILABLE]))
    }
}

/// Get the records of an idempotency key.
///
/// Returns the caller's own records of all routes of this service. A key of another client or tenant is 404, as an
/// unused key is. A command that is in progress may have no record yet, so 404 does not prove that the key is unused:
/// send the command again with its key to get its outcome, or fence the key.
#[utoipa::path(
    operation_id = "getIdempotencyKey",
    tag = "idempotency-keys",
    params(KeyInPath),
    responses((status = 200, description = "The records of the key", body = KeyRecords), KeyRecordProblems),
    security(("bearer" = [])),
)]
#[get("/v1/idempotency-keys/{key}")]
async fn idempotency_key(
    who: Principal,
    key: Path<KeyInPath>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let key = key.parse(&edge)?;
    let mut connection = edge.database().connection().await?;
    let records = records_of(&mut connection, who.caller(), &key).await?;
    if records.data.is_empty() && records.fenced_at.is_none() {
        return Err(Problem::not_found("key"));
    }
    Ok(HttpResponse::Ok().json(records))
}
