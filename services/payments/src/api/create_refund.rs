//! `POST /v1/payments/{id}/refunds`

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use contracts::{Money, PaymentId};
use edge::{
    Accepted, Command, CommandError, CommandProblems, IdempotencyKey, Phased, Problem, Segment,
    ValidationErrors,
};
use runtime::Context;
use serde::Deserialize;
use utoipa::ToSchema;

use super::validation;
use crate::Payments;
use crate::domain::ProcessorReference;
use crate::domain::payment::State;
use crate::error::{
    PAYMENT_CANCELLED, PAYMENT_NOT_CAPTURED, PAYMENT_UNCONFIRMED, REFUND_CURRENCY, REFUND_EXCEEDS_CAPTURE,
};
use crate::store::payments::{self, PaymentRow};
use crate::transitions::{RefundCause, accept_refund, keep_waiting};
use crate::views::RefundView;

/// A request to refund a payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRefund {
    /// The amount, in the payment's currency: at least 1 minor unit. Without it, everything that is left is refunded.
    amount: Option<Money>,
    /// The reason, in your own words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("arrived broken"))]
    reason: String,
}

impl Command for CreateRefund {
    const SCOPE: &'static str = "payments:refund";

    fn validate(&self, errors: &mut ValidationErrors) {
        if let Some(amount) = self.amount {
            validation::amount(errors, amount);
        }
        let reason = (1..=200).contains(&self.reason.chars().count());
        errors.require(reason, "/reason", "a reason has 1 to 200 characters");
    }
}

/// Refund a payment.
///
/// A captured payment can be refunded in full or in parts, until nothing is left. The amount is reserved at once, so that
/// two refunds never use the same money. It is released if the refund fails. If the outcome is not known within a short
/// time, the response is 202, and the operation in `Location` will show the outcome.
#[utoipa::path(
    operation_id = "createRefund",
    tag = "refunds",
    params(("id" = PaymentId, Path, description = "The payment"), IdempotencyKey),
    request_body = CreateRefund,
    responses(
        (status = 201, description = "The amount was refunded", body = RefundView, headers(
            ("Location" = String, description = "The path of the refund"),
            ("Idempotency-Status" = String, description = "executed, or replayed"),
        )),
        Accepted,
        CommandProblems,
    ),
    security(("bearer" = [])),
)]
#[post("/v1/payments/{id}/refunds")]
pub(crate) async fn create_refund(
    refund: Phased<CreateRefund>,
    payment: Segment<PaymentId>,
    context: Data<Context<Payments>>,
) -> Result<HttpResponse, Problem> {
    let (bodies, Segment(id)) = (context.settings.bodies.clone(), payment);
    refund
        .start(
            async move |tx, request| {
                // The row lock makes concurrent refunds of this payment wait for each other.
                let payment = payments::lock_of_tenant(tx, request.tenant(), id).await?;
                let payment = payment.ok_or_else(|| CommandError::Rejected(Problem::not_found("payment")))?;
                let (captured, amount) = refundable(&payment, request.amount)?;
                payments::reserve(tx, id, amount).await?;
                let cause = RefundCause::Requested {
                    by: request.caller(),
                    operation: request.operation(),
                    reason: &request.reason,
                };
                accept_refund(tx, &bodies, &payment, &captured, amount, cause).await?;
                Ok(())
            },
            keep_waiting,
        )
        .await
}

/// Decides how much of a payment is refunded now. The payment is locked.
fn refundable(
    payment: &PaymentRow,
    requested: Option<Money>,
) -> Result<(ProcessorReference, i64), CommandError> {
    let current = payment.payment()?;
    if current.cancel_requested {
        let detail = "The order is cancelled. Its payment is refunded in full automatically.";
        return Err(CommandError::rejected(&PAYMENT_CANCELLED, detail));
    }
    let State::Captured(captured) = current.state else {
        let detail = "The payment is not captured, so nothing can be refunded.";
        return Err(CommandError::rejected(&PAYMENT_NOT_CAPTURED, detail));
    };
    if payment.order().is_some() && !payment.confirmed {
        let detail = "The order is not confirmed yet. Send the same request again in a moment.";
        return Err(CommandError::refused(&PAYMENT_UNCONFIRMED, detail));
    }
    let total = payment.amount()?;
    if requested.is_some_and(|requested| requested.currency != total.currency) {
        let detail = format!("The payment is in {}, and refunds are made in that currency.", total.currency);
        return Err(CommandError::rejected(&REFUND_CURRENCY, detail));
    }
    let left = total.amount - payment.refund_reserved;
    let amount = requested.map_or(left, |requested| requested.amount);
    if amount < 1 || amount > left {
        let detail = format!("Of {total}, {left} minor units can still be refunded.");
        return Err(CommandError::rejected(&REFUND_EXCEEDS_CAPTURE, detail));
    }
    Ok((captured, amount))
}
