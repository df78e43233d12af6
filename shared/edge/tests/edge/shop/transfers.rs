//! Transfers: phased commands. The test concludes them.

use actix_web::{HttpResponse, post};
use database::Tx;
use edge::{
    Accepted, Command, CommandError, IdempotencyKey, Idempotent, KeyedProblems, Problem, Reply,
    ValidationErrors, problem_types,
};
use idempotency::{Operation, StoredResponse};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartTransfer {
    amount: i64,
}

impl Command for StartTransfer {
    const SCOPE: &'static str = "orders:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require(self.amount >= 1, "/amount", "an amount is at least 1");
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct Transfer {
    done: bool,
}

/// The final reply of a transfer.
pub(crate) fn done() -> StoredResponse {
    Reply::created("/v1/transfers/1", &Transfer { done: true }).stored_response().unwrap()
}

/// The reply of an attempt without effect.
pub(crate) fn not_now() -> StoredResponse {
    Problem::new(&problem_types::UNAVAILABLE, "Nothing was transferred.").stored_response()
}

/// Transfers of 13 are refused.
#[utoipa::path(
    operation_id = "startTransfer",
    params(IdempotencyKey),
    request_body = StartTransfer,
    responses((status = 201, body = Transfer), Accepted, KeyedProblems<StartTransfer>),
    security(("bearer" = []))
)]
#[post("/v1/transfers")]
pub(super) async fn start(transfer: Idempotent<StartTransfer>) -> Result<HttpResponse, Problem> {
    let begin = async |tx: &mut Tx, request: &edge::CommandRequest<StartTransfer>| {
        audit::record(tx, request.fact("transfer.start", "transfer", "1"));
        match request.amount {
            13 => Err(CommandError::rejected(&super::orders::problem::TOO_MUCH, "An unlucky number.")),
            _ => Ok(()),
        }
    };
    transfer.start(begin, async |_: &mut Tx, _: &Operation| Ok(())).await
}
