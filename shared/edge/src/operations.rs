//! `GET /v1/operations/{id}`: what became of a command that was answered with 202.

use std::collections::BTreeMap;

use actix_web::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::{OperationId, Timestamp};
use idempotency::{OperationRecord, OperationState, StoredResponse};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::{Edge, Principal, Problem, ReadProblems, Segment};

/// Between two looks at an operation, in seconds.
const LOOK_AGAIN: u32 = 1;

/// Mounts `GET /v1/operations/{id}`, for tokens that allow `scope`.
pub fn operations(app: &mut ServiceConfig<'_>, scope: &'static str) {
    app.app_data(Data::new(ReadScope(scope))).service(get_operation);
}

struct ReadScope(&'static str);

/// The answer to a command that is accepted and whose outcome is still to come.
#[derive(Debug, Serialize, ToSchema)]
pub struct AcceptedOperation {
    /// Its id, also in the audit.
    pub operation_id: OperationId,
    /// Where to see what becomes of it.
    #[schema(examples("/v1/operations/0190a5c4-7e3b-7abc-8def-0123456789ab"))]
    pub location: String,
}

/// The receipt of an operation whose outcome is still to come.
pub(crate) fn accepted(operation_id: OperationId) -> StoredResponse {
    let location = format!("/v1/operations/{operation_id}");
    let headers = vec![
        (CONTENT_TYPE.to_string(), "application/json".to_owned()),
        (LOCATION.to_string(), location.clone()),
        (RETRY_AFTER.to_string(), LOOK_AGAIN.to_string()),
    ];
    let body = serde_json::to_vec(&AcceptedOperation { operation_id, location }).unwrap_or_default();
    StoredResponse { status: 202, headers, body }
}

/// Where an operation is. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum OperationStatus {
    /// It has not ended.
    Running,
    /// It was carried out, once.
    Succeeded,
    /// It was not carried out, and never will be.
    Failed,
    /// Whether it was carried out is being found out.
    Unknown,
}

/// A command that may take longer than its request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operation)]
struct OperationView {
    /// Its id.
    id: OperationId,
    /// Where it is.
    status: OperationStatus,
    /// What the command would have been answered, had it not taken so long; null until it has ended.
    #[schema(required)]
    reply: Option<OperationReply>,
    /// When it was accepted.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

/// The answer to a command, given later.
#[derive(Debug, Serialize, ToSchema)]
struct OperationReply {
    /// The HTTP status.
    #[schema(examples(201))]
    status: u16,
    /// The headers that belong to the answer, by their names in lower case.
    headers: BTreeMap<String, String>,
    /// The body, as the command documents it for this status.
    body: Value,
}

impl From<OperationRecord> for OperationView {
    fn from(record: OperationRecord) -> Self {
        let timestamp = |time| Timestamp::from_rfc3339(database::time::to_rfc3339(time));
        Self {
            id: record.id,
            status: match record.state {
                OperationState::Running => OperationStatus::Running,
                OperationState::Succeeded => OperationStatus::Succeeded,
                OperationState::Failed => OperationStatus::Failed,
                OperationState::Unknown => OperationStatus::Unknown,
            },
            reply: record.reply.map(OperationReply::from),
            created_at: timestamp(record.created_at),
            updated_at: timestamp(record.updated_at),
        }
    }
}

impl From<StoredResponse> for OperationReply {
    fn from(receipt: StoredResponse) -> Self {
        Self {
            status: receipt.status,
            headers: receipt.headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect(),
            body: serde_json::from_slice(&receipt.body).unwrap_or_default(),
        }
    }
}

/// See what became of a command that was answered with 202.
///
/// The tenant's own operations. Look again after `Retry-After`, until the status is `succeeded` or `failed`; then the
/// reply is there, and nothing changes any more.
#[utoipa::path(
    operation_id = "getOperation",
    tag = "operations",
    params(("id" = OperationId, Path, description = "The operation")),
    responses(
        (status = 200, description = "The operation", body = OperationView, headers(
            ("Retry-After" = i32, description = "Seconds after which to look again; only until it has ended"),
        )),
        ReadProblems,
    ),
    security(("bearer" = [])),
)]
#[get("/v1/operations/{id}")]
async fn get_operation(
    who: Principal,
    id: Segment<OperationId>,
    scope: Data<ReadScope>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require(scope.0)?;
    let mut connection = edge.database().connection().await?;
    let record = idempotency::operation(&mut connection, who.tenant(), id.0).await?;
    let record = record.ok_or_else(|| Problem::not_found("operation"))?;
    let mut response = HttpResponse::Ok();
    if matches!(record.state, OperationState::Running | OperationState::Unknown) {
        response.insert_header((RETRY_AFTER, LOOK_AGAIN));
    }
    Ok(response.json(OperationView::from(record)))
}
