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

use super::rules;
use super::views::RefundView;
use crate::domain::ProcessorReference;
use crate::domain::payment::State;
use crate::error::{
    PAYMENT_CANCELLED, PAYMENT_NOT_CAPTURED, PAYMENT_UNCONFIRMED, REFUND_CURRENCY, REFUND_EXCEEDS_CAPTURE,
};
use crate::intake::Cause;
use crate::store::payments::{self, PaymentRow};
use crate::{Payments, commands, intake};

/// A request to give money back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRefund {
    /// How much, in the payment's currency: at least 1 minor unit. Left out: all that is left.
    amount: Option<Money>,
    /// Why, in your own words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("arrived broken"))]
    reason: String,
}

impl Command for CreateRefund {
    const SCOPE: &'static str = "payments:refund";

    fn validate(&self, errors: &mut ValidationErrors) {
        if let Some(amount) = self.amount {
            rules::amount(errors, amount);
        }
        let reason = (1..=200).contains(&self.reason.chars().count());
        errors.require(reason, "/reason", "a reason has 1 to 200 characters");
    }
}

/// Give money back.
///
/// All of a captured payment, or a part, as often as something is left. The amount is claimed at once, so that no two
/// refunds give the same money back, and free again if the refund fails. If the outcome is not there within moments,
/// the answer is 202 and the outcome will be at the operation that `Location` names.
#[utoipa::path(
    operation_id = "createRefund",
    tag = "refunds",
    params(("id" = PaymentId, Path, description = "The payment"), IdempotencyKey),
    request_body = CreateRefund,
    responses(
        (status = 201, description = "The money was given back", body = RefundView, headers(
            ("Location" = String, description = "Where the refund is"),
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
    let (forms, Segment(id)) = (context.settings.forms.clone(), payment);
    refund
        .start(
            async move |tx, request| {
                // Whoever wants a part of this payment's money comes after the other.
                let payment = payments::lock_of_tenant(tx, request.tenant(), id).await?;
                let payment = payment.ok_or_else(|| CommandError::Rejected(Problem::not_found("payment")))?;
                let (captured, amount) = claim(&payment, request.amount)?;
                payments::reserve(tx, id, amount).await?;
                let cause = Cause::Requested {
                    by: request.caller(),
                    operation: request.operation(),
                    reason: &request.reason,
                };
                intake::refund(tx, &forms, &payment, &captured, amount, cause).await?;
                Ok(())
            },
            commands::go_on,
        )
        .await
}

/// What of this payment's money may be given back now; it is locked.
fn claim(payment: &PaymentRow, wanted: Option<Money>) -> Result<(ProcessorReference, i64), CommandError> {
    let current = payment.payment()?;
    if current.cancel_requested {
        let detail = "Its order is cancelled: whatever was taken for it is given back in full, by itself.";
        return Err(CommandError::rejected(&PAYMENT_CANCELLED, detail));
    }
    let State::Captured(captured) = current.state else {
        let detail = "Nothing was taken for this payment so far, so nothing can be given back.";
        return Err(CommandError::rejected(&PAYMENT_NOT_CAPTURED, detail));
    };
    if payment.order().is_some() && !payment.confirmed {
        let detail = "Its order is not confirmed yet; that takes moments. Send the same request again.";
        return Err(CommandError::refused(&PAYMENT_UNCONFIRMED, detail));
    }
    let total = payment.amount()?;
    if wanted.is_some_and(|wanted| wanted.currency != total.currency) {
        let detail = format!("The payment is in {}; money is given back in that currency.", total.currency);
        return Err(CommandError::rejected(&REFUND_CURRENCY, detail));
    }
    let left = total.amount - payment.refund_reserved;
    let amount = wanted.map_or(left, |wanted| wanted.amount);
    if amount < 1 || amount > left {
        let detail = format!("Of {total}, {left} minor units are left to be given back.");
        return Err(CommandError::rejected(&REFUND_EXCEEDS_CAPTURE, detail));
    }
    Ok((captured, amount))
}
