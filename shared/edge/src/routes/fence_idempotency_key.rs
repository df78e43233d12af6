//! `POST /v1/idempotency-keys/{key}/fence`: lists the commands that were executed under a key, and refuses every later one.

use std::collections::BTreeMap;

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use idempotency::{KeyRecords, fence_key, records_of};
use utoipa::IntoResponses;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;

use crate::commands::key_in_progress;
use crate::openapi::KeyInPath;
use crate::{Edge, Principal, Problem, problem_responses, problem_types as p};

/// The problems of this route. It needs no scope.
struct FenceProblems;

impl IntoResponses for FenceProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let own = [&p::KEY_INVALID, &p::UNAUTHENTICATED, &p::KEY_IN_PROGRESS];
        let any = [&p::RATE_LIMITED, &p::INTERNAL, &p::UNAVAILABLE, &p::COMMIT_UNKNOWN];
        problem_responses(own.iter().chain(&any))
    }
}

/// Fence an idempotency key.
///
/// For a client that has no response and gives up. Afterwards the records of the key are complete: a command that is not
/// among them never takes effect. If its request arrives later, it is refused with `idempotency-key-fenced`. A command
/// among them stays as it is, and a retry gets its response. A phased command may still be under way: read its operation.
///
/// A fence is the caller's own, holds on all routes of this service and is never removed. It needs no key and no body, and a
/// repeated fence changes nothing.
#[utoipa::path(
    operation_id = "fenceIdempotencyKey",
    tag = "idempotency-keys",
    params(KeyInPath),
    responses((status = 200, description = "The records of the key", body = KeyRecords), FenceProblems),
    security(("bearer" = [])),
)]
#[post("/v1/idempotency-keys/{key}/fence")]
pub(super) async fn fence_idempotency_key(
    who: Principal,
    key: Path<KeyInPath>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let key = key.parse(&edge)?;
    if !fence_key(edge.database(), who.caller(), &key).await? {
        return Err(key_in_progress());
    }
    let mut connection = edge.database().connection().await?;
    Ok(HttpResponse::Ok().json(records_of(&mut connection, who.caller(), &key).await?))
}
