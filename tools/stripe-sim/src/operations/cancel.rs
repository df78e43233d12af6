//! `POST /v1/payment_intents/{id}/cancel`: the intent can never be charged again.

use database::Tx;

use crate::keys::Answer;
use crate::objects;
use crate::processor::{Command, Occasion};
use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::store::intents;
use crate::webhooks::events;

/// Why a client may cancel.
const REASONS: &[&str] = &["abandoned", "duplicate", "fraudulent", "requested_by_customer"];

/// Where an intent must stand. What the bank is processing can no longer be stopped.
const OPEN: &[&str] =
    &["requires_payment_method", "requires_capture", "requires_confirmation", "requires_action"];

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CancelIntent {
    id: String,
    reason: Option<String>,
    expand: Expand,
}

impl CancelIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, Refusal> {
        let reason = form.one_of("cancellation_reason", REASONS)?;
        let expand = Expand::read(&mut form)?;
        form.finish()?;
        Ok(Self { id, reason, expand })
    }
}

impl Command for CancelIntent {
    const NAME: &'static str = "cancel payment_intent";

    fn expand(&self) -> Option<&Expand> {
        Some(&self.expand)
    }

    async fn act(&self, tx: &mut Tx, on: &Occasion) -> Result<Answer, Failure> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(Refusal::not_found("payment_intent", &self.id, "intent").into());
        };
        if !OPEN.contains(&intent.status.as_str()) {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of \
                 the following statuses may be canceled: {}.",
                intent.status,
                OPEN.join(", ")
            );
            return Err(Refusal::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        }
        let canceled = intents::cancel(tx, &self.id, self.reason.as_deref()).await?;
        let object = objects::payment_intent(&canceled);
        events::emit(tx, on, "payment_intent.canceled", &object).await?;
        Ok(Answer::ok(&object))
    }
}
