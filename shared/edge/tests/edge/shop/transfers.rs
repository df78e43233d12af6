//! Transfers: commands that somebody else carries out. Here that is the test.

use actix_web::{HttpResponse, post};
use database::Tx;
use edge::{
    Accepted, Command, CommandProblems, Failure, Faults, IdempotencyKey, Phased, Problem, Reply, kind,
};
use idempotency::{Operation, Receipt};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartTransfer {
    amount: i64,
}

impl Command for StartTransfer {
    const SCOPE: &'static str = "orders:write";

    fn check(&self, faults: &mut Faults) {
        faults.require(self.amount >= 1, "/amount", "an amount is at least 1");
    }
}

#[derive(Debug, Serialize, ToSchema)]
struct Transfer {
    done: bool,
}

/// What whoever carries a transfer out answers.
pub(crate) fn done() -> Receipt {
    Reply::created("/v1/transfers/1", &Transfer { done: true }).into()
}

/// What they answer if it had no effect this time.
pub(crate) fn not_now() -> Receipt {
    Problem::new(&kind::UNAVAILABLE, "Nothing was transferred.").receipt()
}

/// Transfers of 13 are refused.
#[utoipa::path(
    operation_id = "startTransfer",
    params(IdempotencyKey),
    request_body = StartTransfer,
    responses((status = 201, body = Transfer), Accepted, CommandProblems),
    security(("bearer" = []))
)]
#[post("/v1/transfers")]
pub(super) async fn start(transfer: Phased<StartTransfer>) -> Result<HttpResponse, Problem> {
    let begin = async |tx: &mut Tx, wish: &edge::Wish<StartTransfer>| {
        audit::record(tx, wish.fact("transfer.start", "transfer", "1"));
        match wish.amount {
            13 => Err(Failure::rejected(&super::orders::problem::TOO_MUCH, "An unlucky number.")),
            _ => Ok(()),
        }
    };
    transfer.start(begin, async |_: &mut Tx, _: &Operation| Ok(())).await
}
