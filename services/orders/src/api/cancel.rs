//! `POST /v1/orders/{id}/cancel`

use actix_web::{HttpResponse, post};
use contracts::OrderId;
use edge::{Command, CommandProblems, IdempotencyKey, Idempotent, Problem, Reply, Segment, ValidationErrors};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::OrderView;
use crate::domain::Input;
use crate::saga;
use crate::timeline::Cause;

/// A request to cancel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelOrder {
    /// Why, in the customer's words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("changed my mind"))]
    reason: String,
}

impl Command for CancelOrder {
    const SCOPE: &'static str = "orders:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        let length = (1..=200).contains(&self.reason.chars().count());
        errors.require(length, "/reason", "a reason has 1 to 200 characters");
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
    request: Idempotent<CancelOrder>,
    order: Segment<OrderId>,
) -> Result<HttpResponse, Problem> {
    let Segment(id) = order;
    request
        .execute(async move |tx, request| {
            let input = Input::Cancel(request.reason.clone());
            let moved = saga::advance(tx, request.tenant(), id, input, &Cause::request(request)).await?;
            audit::record(tx, request.fact("order.cancel", "order", id));
            Ok(Reply::ok(&OrderView::try_from(moved.order)?))
        })
        .await
}
