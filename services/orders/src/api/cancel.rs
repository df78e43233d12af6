//! `POST /v1/orders/{id}/cancel`

use actix_web::{HttpResponse, post};
use contracts::OrderId;
use edge::{Command, CommandProblems, Faults, IdempotencyKey, Idempotent, Problem, Reply, Segment};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::OrderView;
use crate::domain::Input;
use crate::saga;
use crate::timeline::Cause;

/// A wish to cancel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelOrder {
    /// Why, in the customer's words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("changed my mind"))]
    reason: String,
}

impl Command for CancelOrder {
    const SCOPE: &'static str = "orders:write";

    fn check(&self, faults: &mut Faults) {
        let length = (1..=200).contains(&self.reason.chars().count());
        faults.require(length, "/reason", "a reason has 1 to 200 characters");
    }
}

/// Cancel an order.
///
/// Possible until it is confirmed, also while a charge is in flight: what is captured after that is refunded by
/// itself. Cancelling again with the same reason succeeds, also with a new key.
#[utoipa::path(
    operation_id = "cancelOrder",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order"), IdempotencyKey),
    request_body = CancelOrder,
    responses((status = 200, description = "Cancelled", body = OrderView), CommandProblems),
    security(("bearer" = [])),
)]
#[post("/v1/orders/{id}/cancel")]
pub(crate) async fn cancel(
    wish: Idempotent<CancelOrder>,
    order: Segment<OrderId>,
) -> Result<HttpResponse, Problem> {
    let Segment(id) = order;
    wish.execute(async move |tx, wish| {
        let input = Input::Cancel(wish.reason.clone());
        let moved = saga::advance(tx, wish.tenant(), id, input, &Cause::request(wish)).await?;
        audit::record(tx, wish.fact("order.cancel", "order", id));
        Ok(Reply::ok(&OrderView::try_from(moved.order)?))
    })
    .await
}
