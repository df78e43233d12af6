//! Reads a refund that a person made in the processor's dashboard, and verifies that it is the refund that is owed.

use contracts::Money;
use thiserror::Error;

use super::classify::classify;
use super::client::Processor;
use super::objects::{Listed, Object};
use super::response::{Movement, ProcessorResponse};
use crate::domain::AttemptOutcome;

/// Why an object of the processor is not the refund that is owed.
#[derive(Debug, Error)]
pub(crate) enum HandRefundError {
    #[error("the processor has no refund {0}: copy the id from the dashboard, re_…")]
    NotFound(String),
    #[error("the processor was not read ({0}): try again later")]
    Unanswered(AttemptOutcome),
    #[error("it refunds another charge ({0})")]
    OtherCharge(String),
    #[error("it is a refund of this service, for {0}: resolve the review of that one")]
    Ours(String),
    #[error("it did not refund {owed}: the processor says {seen}")]
    NotRefunded { owed: Money, seen: String },
}

impl Processor {
    /// Verifies that a refund succeeded, of this amount, of the `PaymentIntent` with this id, and without the tag of this
    /// deployment.
    pub(crate) async fn verify_hand_refund(
        &self,
        id: &str,
        owed: Money,
        payment_intent: &str,
        deployment: &str,
    ) -> Result<(), HandRefundError> {
        let movement = Movement::Refund(owed);
        let response = self.get(&["v1", movement.collection(), id], &[], self.deadline()).await;
        let outcome = classify(movement, &response);
        let object = match &response {
            ProcessorResponse::Received { status: 200, body, .. } => Object::read(body),
            ProcessorResponse::Received { status: 404, .. } => {
                return Err(HandRefundError::NotFound(id.to_owned()));
            }
            ProcessorResponse::NotSent | ProcessorResponse::Lost | ProcessorResponse::Received { .. } => None,
        };
        let Some(object) = object.map(Listed::from) else { return Err(HandRefundError::Unanswered(outcome)) };
        if object.payment_intent.as_deref() != Some(payment_intent) {
            let other = object.payment_intent.unwrap_or_else(|| "without a PaymentIntent".to_owned());
            return Err(HandRefundError::OtherCharge(other));
        }
        if object.deployment.as_deref() == Some(deployment) {
            return Err(HandRefundError::Ours(object.reference.unwrap_or_default()));
        }
        match outcome {
            AttemptOutcome::Succeeded(reference) if reference.id == id => Ok(()),
            outcome => Err(HandRefundError::NotRefunded { owed, seen: outcome.to_string() }),
        }
    }
}
