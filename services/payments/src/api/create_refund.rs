//! `POST /v1/payments/{id}/refunds`

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use contracts::{Money, PaymentId, RefundId};
use edge::problem_types::NOT_FOUND;
use edge::{
    Accepted, Command, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType, Segment,
    ValidationErrors,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::validation;
use crate::context::Context;
use crate::error as e;
use crate::transitions::{RequestedRefund, accept_requested_refund, keep_waiting};
use crate::views::RefundView;

/// A request to refund a payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRefund {
    /// The amount, in the payment's currency: at least 1 minor unit. Without it, everything that is left is refunded.
    #[serde(default, deserialize_with = "edge::not_null")]
    #[schema(nullable = false)]
    amount: Option<Money>,
    /// The reason, in your own words: 1 to 200 characters.
    #[schema(value_type = edge::Text)]
    reason: String,
}

impl Command for CreateRefund {
    const SCOPE: &'static str = "payments:refund";
    const PROBLEMS: &'static [&'static ProblemType] = &[
        &NOT_FOUND,
        &e::PAYMENT_UNCONFIRMED,
        &e::PAYMENT_CANCELLED,
        &e::PAYMENT_NOT_CAPTURED,
        &e::REFUND_EXCEEDS_CAPTURE,
        &e::REFUND_CURRENCY,
        &e::REFUND_FAILED,
    ];

    fn validate(&self, errors: &mut ValidationErrors) {
        if let Some(amount) = self.amount {
            validation::amount(errors, amount);
        }
        errors.require_text(&self.reason, "/reason", "reason");
    }
}

/// Refund a payment.
///
/// A captured payment can be refunded in full or in parts, until nothing is left. The amount is reserved at once, so that
/// two refunds never use the same money. It is released if the refund fails. A payment can have 100 refunds, and failed ones
/// count. If the outcome is not known within a short time, the response is 202, and the operation in `Location` will show
/// the outcome.
#[utoipa::path(
    operation_id = "createRefund",
    tag = "refunds",
    params(("id" = PaymentId, Path, description = "The payment"), IdempotencyKey),
    request_body = CreateRefund,
    responses(
        (status = 201, description = "The amount was refunded", body = RefundView, headers(
            ("Location" = String, description = "The path of the refund"),
        )),
        Accepted,
        KeyedProblems<CreateRefund>,
    ),
    security(("bearer" = ["payments:refund"])),
)]
#[post("/v1/payments/{id}/refunds")]
pub(crate) async fn create_refund(
    refund: Idempotent<CreateRefund>,
    payment: Segment<PaymentId>,
    context: Data<Context>,
) -> Result<HttpResponse, Problem> {
    let (policy, Segment(id)) = (context.settings.policy.clone(), payment);
    refund
        .start(
            async move |tx, request| {
                let requested = RequestedRefund {
                    caller: request.caller(),
                    operation: request.operation(),
                    id: RefundId::requested_of(id, request.seed()),
                    payment: id,
                    amount: request.amount,
                    reason: &request.reason,
                };
                accept_requested_refund(tx, &policy, &requested).await
            },
            keep_waiting,
        )
        .await
}
