//! `POST /v1/payment_intents/{id}/confirm`: charges an intent that was made before, or tries another card.

use database::Tx;

use super::cards::Card;
use super::charging::Attempt;
use crate::keys::Answer;
use crate::objects;
use crate::processor::{Command, Occasion};
use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::store::intents;

/// Whether the card's holder takes part in the confirmation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Presence {
    off_session: bool,
    error_on_requires_action: bool,
}

impl Presence {
    /// Takes the parameters of a confirmation out of the form. Without one, they must not be there.
    pub(crate) fn read(form: &mut Form, confirm: bool) -> Result<Self, Refusal> {
        let mut flag = |name: &str| match form.flag(name)? {
            true if !confirm => {
                let message = format!("{name} can only be true together with confirm=true.");
                Err(Refusal::invalid(message).param(name))
            }
            given => Ok(given),
        };
        let (off_session, error_on_requires_action) =
            (flag("off_session")?, flag("error_on_requires_action")?);
        form.text("return_url")?;
        Ok(Self { off_session, error_on_requires_action })
    }

    /// Whether they can be asked to prove who they are.
    pub(crate) fn holder_is_there(self) -> bool {
        !self.off_session && !self.error_on_requires_action
    }
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfirmIntent {
    id: String,
    payment_method: Option<String>,
    presence: Presence,
    expand: Expand,
}

impl ConfirmIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, Refusal> {
        let payment_method = form.text("payment_method")?;
        let presence = Presence::read(&mut form, true)?;
        let expand = Expand::read(&mut form)?;
        form.finish()?;
        Ok(Self { id, payment_method, presence, expand })
    }
}

impl Command for ConfirmIntent {
    const NAME: &'static str = "confirm payment_intent";

    /// Only a card that is named here; what the intent holds is not known yet.
    fn card(&self) -> Option<Card> {
        self.payment_method.as_deref().and_then(Card::of)
    }

    fn expand(&self) -> Option<&Expand> {
        Some(&self.expand)
    }

    async fn act(&self, tx: &mut Tx, on: &Occasion) -> Result<Answer, Failure> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(Refusal::not_found("payment_intent", &self.id, "intent").into());
        };
        let open = ["requires_payment_method", "requires_confirmation", "requires_action"];
        if !open.contains(&intent.status.as_str()) {
            let message = format!(
                "You cannot confirm this PaymentIntent because it has a status of {}. Only a PaymentIntent with one \
                 of the following statuses may be confirmed: {}.",
                intent.status,
                open.join(", ")
            );
            return Err(Refusal::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        }
        let Some(payment_method) = self.payment_method.as_deref().or(intent.payment_method.as_deref()) else {
            let message = "You cannot confirm this PaymentIntent because it's missing a payment method.";
            return Err(Refusal::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        };
        let manual = intent.capture_method == "manual";
        let attempt = Attempt::make(payment_method, intent.amount, manual, self.presence.holder_is_there())?;
        let intent = intents::update(tx, &self.id, &attempt.standing()).await?;
        attempt.settle(tx, on, &intent).await
    }
}
