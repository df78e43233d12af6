//! The problems that only `payments` has, and which errors become which problem.
//!
//! A *rejected* request is stored and replayed; a *refused* one is not stored, and its key can be used again.

use std::collections::BTreeMap;

use edge::{CommandError, problem_responses, problem_types, problem_types as p};
use utoipa::IntoResponses;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;

use crate::domain::refund::Refusal;

problem_types! {
    /// The card's bank declined.
    CARD_DECLINED = "card-declined", 402, "The card was declined", retryable: false;
    /// The processor does not accept the charge.
    CHARGE_REJECTED = "charge-rejected", 422, "The processor does not accept the charge", retryable: false;
    /// The card was provably not charged by this attempt.
    PAYMENT_NOT_EXECUTED = "payment-not-executed", 503, "The charge was not made", retryable: true;
    /// The card was not charged before the payment expired.
    PAYMENT_EXPIRED = "payment-expired", 409, "The payment has expired", retryable: false;
    /// An internal error that a retry does not resolve.
    OPERATION_FAILED = "operation-failed", 500, "The operation cannot be carried out", retryable: false;
    /// The order may still be cancelled or confirmed.
    PAYMENT_UNCONFIRMED = "payment-unconfirmed", 409, "The order is not confirmed yet", retryable: true;
    /// The payment is refunded automatically.
    PAYMENT_CANCELLED = "payment-cancelled", 409, "The order is cancelled", retryable: false;
    /// There is nothing to refund.
    PAYMENT_NOT_CAPTURED = "payment-not-captured", 409, "The payment is not captured", retryable: false;
    /// The amount is more than is left of the captured amount.
    REFUND_EXCEEDS_CAPTURE = "refund-exceeds-capture", 422, "The refund exceeds the captured amount", retryable: false;
    /// The currency is not the payment's.
    REFUND_CURRENCY = "refund-currency", 422, "The payment has another currency", retryable: false;
    /// The processor refused the refund.
    REFUND_FAILED = "refund-failed", 422, "The refund failed", retryable: false;
    /// The signature does not prove that the event comes from the processor.
    WEBHOOK_REFUSED = "webhook-refused", 400, "The event is not accepted", retryable: false;
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Repeated(id) => Self::refused(
                &p::KEY_EXPIRED,
                format!("This key was used before, and made refund {id}. Read it to see the result."),
            ),
            Refusal::OrderCancelled => Self::rejected(
                &PAYMENT_CANCELLED,
                "The order is cancelled. Its payment is refunded in full automatically.",
            ),
            Refusal::NotCaptured => Self::rejected(
                &PAYMENT_NOT_CAPTURED,
                "The payment is not captured, so nothing can be refunded.",
            ),
            // Refused, because the confirmation may arrive within moments and the same key should then succeed.
            Refusal::OrderUnconfirmed => Self::refused(
                &PAYMENT_UNCONFIRMED,
                "The order is not confirmed yet. Send the same request again in a moment.",
            ),
            Refusal::OtherCurrency(currency) => Self::rejected(
                &REFUND_CURRENCY,
                format!("The payment is in {currency}, and refunds are made in that currency."),
            ),
            Refusal::ExceedsCapture { total, left } => {
                Self::rejected(&REFUND_EXCEEDS_CAPTURE, format!("Of {total}, {left} can still be refunded."))
            }
            Refusal::TooMany(made) => Self::rejected(
                &REFUND_EXCEEDS_CAPTURE,
                format!("The payment has {made} refunds, failed ones included, and can have no more."),
            ),
        }
    }
}

/// The problems of the webhook. Instead of a token, it needs a signature.
pub(crate) struct WebhookProblems;

impl IntoResponses for WebhookProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let request = [&WEBHOOK_REFUSED, &p::REQUEST_INVALID, &p::REQUEST_TIMEOUT];
        problem_responses(request.iter().chain(&[&p::INTERNAL, &p::UNAVAILABLE, &p::COMMIT_UNKNOWN]))
    }
}
