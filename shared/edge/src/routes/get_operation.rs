//! `GET /v1/operations/{id}`: the outcome of a command whose response was 202.

use std::collections::BTreeMap;

use actix_web::http::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use diesel::result::Error::DeserializationError;
use envelope::{OperationId, Timestamp};
use idempotency::{OperationRecord, OperationState, StoredResponse};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::problems::json_bytes;
use crate::{Edge, NotFound, Principal, Problem, ReadProblems, Segment};

/// `Retry-After` of an operation without an outcome, in seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Mounts `GET /v1/operations/{id}`. A token with the scope `read` reads all operations of its tenant. A token with a scope of
/// `commands` reads those that its client started.
pub fn operations(app: &mut ServiceConfig<'_>, read: &'static str, commands: &'static [&'static str]) {
    app.app_data(Data::new(Scopes { read, commands })).service(get_operation);
}

struct Scopes {
    read: &'static str,
    commands: &'static [&'static str],
}

/// The response to a command that was accepted and has no outcome yet.
#[derive(Debug, Serialize, ToSchema)]
pub struct AcceptedOperation {
    /// The operation's id, also in the audit.
    pub operation_id: OperationId,
    /// Where the outcome will be.
    #[schema(examples("/v1/operations/0190a5c4-7e3b-7abc-8def-0123456789ab"))]
    pub location: String,
}

/// The response 202 of an operation without an outcome.
pub(crate) fn accepted(operation_id: OperationId) -> StoredResponse {
    let location = format!("/v1/operations/{operation_id}");
    let headers = vec![
        (CONTENT_TYPE.to_string(), "application/json".to_owned()),
        (LOCATION.to_string(), location.clone()),
        (RETRY_AFTER.to_string(), RETRY_AFTER_SECONDS.to_string()),
    ];
    let body = json_bytes(&AcceptedOperation { operation_id, location });
    StoredResponse { status: 202, headers, body }
}

/// A command that may take longer than its request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operation)]
struct OperationView {
    /// The operation's id.
    id: OperationId,
    /// The operation's state.
    status: OperationState,
    /// The final response of the command; null until the operation has ended.
    #[schema(required)]
    reply: Option<OperationReply>,
    /// When the command was accepted.
    created_at: Timestamp,
    /// When the operation last changed.
    updated_at: Timestamp,
}

/// The final response of a command.
#[derive(Debug, Serialize, ToSchema)]
struct OperationReply {
    /// The HTTP status.
    #[schema(examples(201))]
    status: u16,
    /// The stored headers of the response, with names in lower case.
    headers: BTreeMap<String, String>,
    /// The body, as the command's documentation describes it for this status.
    body: Value,
}

impl TryFrom<OperationRecord> for OperationView {
    type Error = Problem;

    fn try_from(record: OperationRecord) -> Result<Self, Problem> {
        let timestamp = |time| Timestamp::from_rfc3339(database::time::to_rfc3339(time));
        Ok(Self {
            id: record.id,
            status: record.state,
            reply: record.reply.map(OperationReply::try_from).transpose()?,
            created_at: timestamp(record.created_at),
            updated_at: timestamp(record.updated_at),
        })
    }
}

impl TryFrom<StoredResponse> for OperationReply {
    type Error = Problem;

    fn try_from(response: StoredResponse) -> Result<Self, Problem> {
        let body =
            serde_json::from_slice(&response.body).map_err(|error| DeserializationError(Box::new(error)))?;
        let headers = response.headers.into_iter().map(|(name, value)| (name.to_lowercase(), value));
        Ok(Self { status: response.status, headers: headers.collect(), body })
    }
}

/// Get the outcome of a command whose response was 202.
///
/// Returns the tenant's own operations. A token that may only send commands reads the operations of its own client. Ask again after `Retry-After`, until the status is `succeeded` or `failed`. Then
/// the reply is present, and the operation does not change any more.
#[utoipa::path(
    operation_id = "getOperation",
    tag = "operations",
    params(("id" = OperationId, Path, description = "The operation")),
    responses(
        (status = 200, description = "The operation", body = OperationView, headers(
            ("Retry-After" = i32, description = "Seconds after which to ask again; only until the operation has ended"),
        )),
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/operations/{id}")]
async fn get_operation(
    who: Principal,
    id: Segment<OperationId>,
    scopes: Data<Scopes>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let reads_all = who.has(scopes.read);
    if !scopes.commands.iter().any(|scope| who.has(scope)) {
        who.require(scopes.read)?;
    }
    let mut connection = edge.database().connection().await?;
    let record = idempotency::operation(&mut connection, who.tenant(), id.0).await?;
    let record = record.filter(|record| reads_all || record.client == who.caller().client.as_str());
    let record = record.ok_or_else(|| Problem::not_found("operation"))?;
    let mut response = HttpResponse::Ok();
    if matches!(record.state, OperationState::Running | OperationState::Unknown) {
        response.insert_header((RETRY_AFTER, RETRY_AFTER_SECONDS));
    }
    Ok(response.json(OperationView::try_from(record)?))
}
