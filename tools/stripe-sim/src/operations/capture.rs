//! `POST /v1/payment_intents/{id}/capture`: takes what was set aside, or a part of it.

use database::Tx;

use super::money;
use crate::keys::Answer;
use crate::objects;
use crate::processor::{Command, Occasion};
use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::store::{charges, intents};
use crate::webhooks::events;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaptureIntent {
    id: String,
    amount: Option<i64>,
    expand: Expand,
}

impl CaptureIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, Refusal> {
        let amount = form.amount("amount_to_capture")?;
        let expand = Expand::read(&mut form)?;
        form.finish()?;
        Ok(Self { id, amount, expand })
    }
}

impl Command for CaptureIntent {
    const NAME: &'static str = "capture payment_intent";

    fn expand(&self) -> Option<&Expand> {
        Some(&self.expand)
    }

    async fn act(&self, tx: &mut Tx, on: &Occasion) -> Result<Answer, Failure> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(Refusal::not_found("payment_intent", &self.id, "intent").into());
        };
        let held = intent.latest_charge.as_deref().filter(|_| intent.status == "requires_capture");
        let Some(charge) = held else {
            let message = format!(
                "This PaymentIntent could not be captured because it has a status of {}. Only a PaymentIntent with \
                 one of the following statuses may be captured: requires_capture.",
                intent.status
            );
            return Err(Refusal::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        };
        let amount = self.amount.unwrap_or(intent.amount);
        if amount > intent.amount {
            let message =
                "Requested capture amount is greater than the amount you can capture for this charge.";
            return Err(Refusal::invalid(message).code("amount_too_large").param("amount_to_capture").into());
        }
        let movement = money::captured(tx, charge, amount, &intent.currency).await?;
        charges::capture(tx, charge, amount, &movement).await?;
        let captured = intents::succeed(tx, &self.id, amount).await?;
        let object = objects::payment_intent(&captured);
        events::emit(tx, on, "payment_intent.succeeded", &object).await?;
        Ok(Answer::ok(&object))
    }
}
