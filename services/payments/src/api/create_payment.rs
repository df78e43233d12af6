//! `POST /v1/payments`

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use contracts::{Money, PaymentId, PaymentMethod};
use edge::{
    Accepted, Command, CommandError, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType,
    ValidationErrors, problem_types,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::validation;
use crate::context::Context;
use crate::error as e;
use crate::store::payments::NewPayment;
use crate::transitions::{accept_charge, retry_charge};
use crate::views::PaymentView;

/// A request to charge a card.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreatePayment {
    /// The amount: at least 1 minor unit.
    amount: Money,
    /// The processor's token of the card, never its number.
    #[schema(value_type = PaymentMethod)]
    payment_method: String,
    /// Your own reference: 1 to 200 characters.
    #[serde(default, deserialize_with = "edge::not_null")]
    #[schema(nullable = false, value_type = Option<edge::Text>)]
    reference: Option<String>,
}

impl Command for CreatePayment {
    const SCOPE: &'static str = "payments:write";
    const PROBLEMS: &'static [&'static ProblemType] = &[
        &e::CARD_DECLINED,
        &e::PAYMENT_EXPIRED,
        &e::CHARGE_REJECTED,
        &e::OPERATION_FAILED,
        &e::PAYMENT_NOT_EXECUTED,
    ];

    fn validate(&self, errors: &mut ValidationErrors) {
        validation::amount(errors, self.amount);
        errors.require_parsed::<PaymentMethod>(&self.payment_method, "/payment_method");
        if let Some(reference) = &self.reference {
            errors.require_reference(reference, "/reference");
        }
    }
}

/// Charge a card.
///
/// The card is charged at most once, even if requests or messages are lost or repeated. If the outcome is not known within a short
/// time, the response is 202, and the operation in `Location` will show the outcome. A 503 `payment-not-executed` proves
/// that the card was not charged: the same request with the same key tries again.
#[utoipa::path(
    operation_id = "createPayment",
    tag = "payments",
    params(IdempotencyKey),
    request_body = CreatePayment,
    responses(
        (status = 201, description = "The card was charged", body = PaymentView, headers(
            ("Location" = String, description = "The path of the payment"),
        )),
        Accepted,
        KeyedProblems<CreatePayment>,
    ),
    security(("bearer" = ["payments:write"])),
)]
#[post("/v1/payments")]
pub(crate) async fn create_payment(
    payment: Idempotent<CreatePayment>,
    context: Data<Context>,
) -> Result<HttpResponse, Problem> {
    let (policy, life) = (context.settings.policy.clone(), context.settings.payment_life);
    payment
        .start(
            async move |tx, request| {
                let new = NewPayment {
                    id: PaymentId::generate(),
                    tenant: request.tenant(),
                    order: None,
                    operation: Some(request.operation()),
                    reference: request.reference.as_deref(),
                    amount: request.amount,
                    payment_method: &request.payment_method,
                    expires_at: request.at() + life,
                };
                if accept_charge(tx, &policy, &new, request.caller()).await? {
                    Ok(())
                } else {
                    // The generated id exists already, which practically cannot happen.
                    Err(CommandError::refused(&problem_types::INTERNAL, "The charge was not accepted."))
                }
            },
            retry_charge,
        )
        .await
}
