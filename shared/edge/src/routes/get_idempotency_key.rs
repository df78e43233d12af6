//! `GET /v1/idempotency-keys/{key}`: the records of a key, for a client that has lost its responses.

use std::collections::BTreeMap;

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use envelope::{OperationId, Timestamp};
use idempotency::{Key, KeyRecord, records_of};
use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;
use utoipa::{IntoResponses, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::openapi::KeyInPath;
use crate::{Edge, Principal, Problem, problem_responses, problem_types as p};

/// Mounts `GET /v1/idempotency-keys/{key}`.
pub fn idempotency_keys(app: &mut ServiceConfig<'_>) {
    app.service(idempotency_key);
}

/// The records of a key.
#[derive(Debug, Serialize, ToSchema)]
struct IdempotencyRecords {
    /// One record for each route that the key was used on, oldest first.
    data: Vec<IdempotencyRecord>,
}

/// One operation of a key.
#[derive(Debug, Serialize, ToSchema)]
struct IdempotencyRecord {
    /// The operation's id, also in the audit.
    operation_id: OperationId,
    /// The method of the command.
    #[schema(examples("POST"))]
    method: String,
    /// The route of the command, as this document names it.
    #[schema(examples("/v1/orders"))]
    route: String,
    /// `completed`: a retry gets the stored response. `expired`: the response has been erased, and a retry is refused.
    /// `started`: in progress. `unknown`: the outcome is still open, and a retry gets 202. `failed_retryable`: nothing was
    /// done, and a retry is executed. `failed_terminal`: nothing was done, and a retry gets the stored response.
    #[schema(examples("completed"))]
    state: &'static str,
    /// The HTTP status of the response; null if there is none yet.
    #[schema(required)]
    status: Option<u16>,
    /// When the key was first used.
    created_at: Timestamp,
    /// When the response was stored; null if there is none yet.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// Until when the response is replayed; null if there is none yet.
    #[schema(required)]
    expires_at: Option<Timestamp>,
    /// The response's Location; null if it has none, or if the response is no longer replayed.
    #[schema(required, examples("/v1/orders/0190a5c4-7e3b-7abc-8def-0123456789ab"))]
    location: Option<String>,
}

impl From<KeyRecord> for IdempotencyRecord {
    fn from(record: KeyRecord) -> Self {
        let timestamp = |time| Timestamp::from_rfc3339(database::time::to_rfc3339(time));
        Self {
            operation_id: record.operation,
            method: record.method,
            route: record.route,
            state: record.state.into(),
            status: record.status,
            created_at: timestamp(record.created_at),
            completed_at: record.completed_at.map(timestamp),
            expires_at: record.expires_at.map(timestamp),
            location: record.location,
        }
    }
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
/// send the command again with its key to get its outcome.
#[utoipa::path(
    operation_id = "getIdempotencyKey",
    tag = "idempotency-keys",
    params(KeyInPath),
    responses((status = 200, description = "The records of the key", body = IdempotencyRecords), KeyRecordProblems),
    security(("bearer" = [])),
)]
#[get("/v1/idempotency-keys/{key}")]
async fn idempotency_key(
    who: Principal,
    key: Path<KeyInPath>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let key = Key::parse(key.0.as_bytes(), edge.settings.key_policy)
        .map_err(|error| Problem::new(&p::KEY_INVALID, error.to_string()))?;
    let mut connection = edge.database().connection().await?;
    let records = records_of(&mut connection, who.caller(), &key).await?;
    if records.is_empty() {
        return Err(Problem::not_found("key"));
    }
    let data = records.into_iter().map(IdempotencyRecord::from).collect();
    Ok(HttpResponse::Ok().json(IdempotencyRecords { data }))
}
