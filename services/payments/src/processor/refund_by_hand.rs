//! Reads a refund that a person made in the processor's dashboard, and verifies that it is the refund that is owed.

use contracts::Money;

use super::classify::classify;
use super::client::Processor;
use super::objects::Object;
use super::response::{Movement, ProcessorResponse};
use crate::domain::AttemptOutcome;

impl Processor {
    /// Verifies that a refund succeeded, of this amount, of the `PaymentIntent` with this id, and without the tag of this
    /// deployment. The error says why it is not the refund that is owed.
    pub(crate) async fn verify_hand_refund(
        &self,
        id: &str,
        owed: Money,
        payment_intent: &str,
        deployment: &str,
    ) -> Result<(), String> {
        let movement = Movement::Refund(owed);
        let response = self.get(&["v1", movement.collection(), id], &[], self.deadline()).await;
        let outcome = classify(movement, &response);
        let object = match &response {
            ProcessorResponse::Received { status: 200, body, .. } => Object::read(body),
            ProcessorResponse::Received { status: 404, .. } => {
                return Err(format!(
                    "the processor has no refund {id}: copy the id from the dashboard, re_…"
                ));
            }
            ProcessorResponse::NotSent | ProcessorResponse::Lost | ProcessorResponse::Received { .. } => None,
        };
        let Some(object) = object else {
            return Err(format!("the processor was not read ({outcome}): try again later"));
        };
        if object.payment_intent.as_deref() != Some(payment_intent) {
            let other = object.payment_intent.as_deref().unwrap_or("without a PaymentIntent");
            return Err(format!("it refunds another charge ({other})"));
        }
        if object.deployment() == Some(deployment) {
            let ours = object.reference().unwrap_or_default();
            return Err(format!(
                "it is a refund of this service, for {ours}: resolve the review of that one"
            ));
        }
        match outcome {
            AttemptOutcome::Succeeded(reference) if reference.id == id => Ok(()),
            seen => Err(format!("it did not refund {owed}: the processor says {seen}")),
        }
    }
}
