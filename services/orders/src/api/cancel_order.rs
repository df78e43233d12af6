//! `POST /v1/orders/{id}/cancel`: cancels an order that is not confirmed yet.

use actix_web::{HttpResponse, post};
use contracts::OrderId;
use edge::problem_types::NOT_FOUND;
use edge::{
    Command, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType, Reply, Segment,
    ValidationErrors,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::{Cause, Input};
use crate::error::{ORDER_CANCELLED_OTHERWISE, ORDER_NOT_CANCELLABLE};
use crate::transitions;
use crate::views::OrderView;

/// A cancellation by the customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelOrder {
    /// The reason in the customer's words: 1 to 200 characters.
    #[schema(value_type = edge::Text)]
    reason: String,
}

/// Cancel an order.
///
/// An order can be cancelled until it is confirmed, even while its charge is in flight: a charge that is captured
/// after the cancellation is refunded. A second cancellation with the same reason succeeds, also under a new key.
#[utoipa::path(
    operation_id = "cancelOrder",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order"), IdempotencyKey),
    request_body = CancelOrder,
    responses((status = 200, description = "The order is cancelled", body = OrderView), KeyedProblems<CancelOrder>),
    security(("bearer" = ["orders:write"])),
)]
#[post("/v1/orders/{id}/cancel")]
pub(crate) async fn cancel_order(
    command: Idempotent<CancelOrder>,
    Segment(id): Segment<OrderId>,
) -> Result<HttpResponse, Problem> {
    command
        .execute(async move |tx, request| {
            let input = Input::Cancel(request.reason.clone());
            let cause = Cause::request(request.operation(), request.caller());
            let order = transitions::apply(tx, request.tenant(), id, input, &cause).await?;
            audit::record(tx, request.fact("order.cancel", "order", id));
            Ok(Reply::ok(&OrderView::try_from(order.into_row())?))
        })
        .await
}

impl Command for CancelOrder {
    const SCOPE: &'static str = "orders:write";
    const PROBLEMS: &'static [&'static ProblemType] =
        &[&NOT_FOUND, &ORDER_NOT_CANCELLABLE, &ORDER_CANCELLED_OTHERWISE];

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require_text(&self.reason, "/reason", "reason");
    }
}
