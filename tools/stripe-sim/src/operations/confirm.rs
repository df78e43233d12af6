//! `POST /v1/payment_intents/{id}/confirm`: charges a payment intent that exists, with its card or another one.

use std::time::Duration;

use database::Tx;

use super::attempt::{Attempt, holder_is_absent};
use super::cards::Card;
use crate::keys::Response;
use crate::objects;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::intents;

/// The statuses in which an intent can be confirmed.
const OPEN: [&str; 3] = ["requires_payment_method", "requires_confirmation", "requires_action"];

/// The parameters of the request.
pub(crate) struct ConfirmIntent {
    id: String,
    payment_method: Option<String>,
    holder_is_absent: bool,
}

impl ConfirmIntent {
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, ApiError> {
        let payment_method = form.text("payment_method")?;
        let holder_is_absent = holder_is_absent(&mut form, true)?;
        form.finish()?;
        Ok(Self { id, payment_method, holder_is_absent })
    }
}

impl Command for ConfirmIntent {
    const NAME: &'static str = "confirm payment_intent";

    /// Only the card of the request. The card of the intent is not known before the intent is read.
    fn card(&self) -> Option<Card> {
        self.payment_method.as_deref().and_then(Card::of)
    }

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, bank_delay: Duration) -> Result<Response, Error> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(ApiError::not_found("payment_intent", &self.id, "intent").into());
        };
        if !OPEN.contains(&intent.status.as_str()) {
            let message = format!(
                "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent with one \
                 of the following statuses may be confirmed: {}.",
                intent.status,
                OPEN.join(", ")
            );
            return Err(ApiError::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        }
        let Some(payment_method) = self.payment_method.as_deref().or(intent.payment_method.as_deref()) else {
            let message = "You cannot confirm this PaymentIntent because it's missing a payment method.";
            return Err(ApiError::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        };
        let manual = intent.capture_method == "manual";
        let attempt = Attempt::new(payment_method, intent.amount, manual, self.holder_is_absent)?;
        let intent = intents::update(tx, &self.id, &attempt.intent_state()).await?;
        Ok(attempt.record(tx, cause, bank_delay, &intent).await?.response)
    }
}
