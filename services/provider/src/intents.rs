//! Creating, charging and cancelling a payment intent.

use std::time::Duration;

use database::Tx;
use serde_json::json;

use crate::cards::Card;
use crate::currencies;
use crate::error::{Failure, Refusal};
use crate::faults::Faults;
use crate::form::Form;
use crate::keys::Answer;
use crate::objects;
use crate::processor::Command;
use crate::store::charges::{self, NewCharge};
use crate::store::intents::{self, NewIntent};
use crate::store::{Metadata, new_id};

/// `POST /v1/payment_intents`: an intent, charged at once if it is also confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateIntent {
    amount: i64,
    currency: String,
    payment_method: Option<String>,
    confirm: bool,
    metadata: Metadata,
}

impl CreateIntent {
    /// Reads the parameters.
    pub(crate) fn read(mut form: Form) -> Result<Self, Refusal> {
        let amount = form.amount("amount")?.ok_or_else(|| Refusal::missing("amount"))?;
        let currency = form.required("currency")?.to_ascii_lowercase();
        if !currencies::is_known(&currency) {
            return Err(Refusal::invalid(format!("Invalid currency: {currency}")).param("currency"));
        }
        let payment_method = form.text("payment_method")?;
        let confirm = form.flag("confirm")?;
        if confirm && payment_method.is_none() {
            let message = "You cannot confirm this PaymentIntent because it's missing a payment method.";
            return Err(Refusal::unexpected_state(message, None));
        }
        for name in ["off_session", "error_on_requires_action"] {
            if form.flag(name)? && !confirm {
                let message = format!("{name} can only be true together with confirm=true.");
                return Err(Refusal::invalid(message).param(name));
            }
        }
        if let Some(other) = form.list("payment_method_types").iter().find(|kind| *kind != "card") {
            let message =
                format!("The payment method type \"{other}\" is not offered here: only \"card\" is.");
            return Err(Refusal::invalid(message).param("payment_method_types"));
        }
        form.one_of("capture_method", &["automatic", "automatic_async"])?;
        let metadata = form.metadata()?;
        form.finish()?;
        Ok(Self { amount, currency, payment_method, confirm, metadata })
    }

    /// The card that would be charged; `None` if nothing is charged, or no such card exists.
    pub(crate) fn card(&self) -> Option<Card> {
        self.payment_method.as_deref().filter(|_| self.confirm).and_then(Card::of)
    }

    async fn store(self, tx: &mut Tx) -> Result<Answer, Failure> {
        let status =
            if self.payment_method.is_some() { "requires_confirmation" } else { "requires_payment_method" };
        let id = new_id("pi");
        let intent = intents::insert(tx, &NewIntent { status, ..self.new_intent(&id) }).await?;
        Ok(Answer::ok(&objects::payment_intent(&intent)))
    }

    async fn charge(self, tx: &mut Tx, card: Card, payment_method: &str) -> Result<Answer, Failure> {
        let (id, charge) = (new_id("pi"), new_id("ch"));
        let declined = card.decline_code();
        let intent = NewIntent {
            status: if declined.is_none() { "succeeded" } else { "requires_payment_method" },
            // A declined card is taken off the intent, which waits for another.
            payment_method: declined.is_none().then_some(payment_method),
            latest_charge: Some(&charge),
            decline_code: declined,
            ..self.new_intent(&id)
        };
        let intent = intents::insert(tx, &intent).await?;
        let row = NewCharge {
            id: &charge,
            payment_intent: &id,
            amount: self.amount,
            currency: &self.currency,
            payment_method,
            status: if declined.is_none() { "succeeded" } else { "failed" },
        };
        charges::insert(tx, &row).await?;
        let object = objects::payment_intent(&intent);
        match declined {
            None => Ok(Answer::ok(&object)),
            Some(code) => Ok(Answer::from(&Refusal::declined(code, &charge, object))),
        }
    }

    fn new_intent<'a>(&'a self, id: &'a str) -> NewIntent<'a> {
        NewIntent {
            id,
            amount: self.amount,
            currency: &self.currency,
            status: "requires_payment_method",
            payment_method: self.payment_method.as_deref(),
            latest_charge: None,
            decline_code: None,
            metadata: json!(self.metadata),
        }
    }
}

impl Command for CreateIntent {
    const NAME: &'static str = "create payment_intent";

    fn delay(&self, faults: &Faults) -> Duration {
        if self.confirm { faults.delay_of_charge(self.card()) } else { Duration::ZERO }
    }

    async fn act(self, tx: &mut Tx) -> Result<Answer, Failure> {
        let Some(payment_method) = self.payment_method.clone() else { return self.store(tx).await };
        let Some(card) = Card::of(&payment_method) else {
            return Err(Refusal::no_such("PaymentMethod", &payment_method, "payment_method").into());
        };
        if self.confirm { self.charge(tx, card, &payment_method).await } else { self.store(tx).await }
    }
}

/// Why a client may cancel.
const REASONS: &[&str] = &["abandoned", "duplicate", "fraudulent", "requested_by_customer"];

/// `POST /v1/payment_intents/{id}/cancel`: the intent can never be charged again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CancelIntent {
    id: String,
    reason: Option<String>,
}

impl CancelIntent {
    /// Reads the parameters.
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, Refusal> {
        let reason = form.one_of("cancellation_reason", REASONS)?;
        form.finish()?;
        Ok(Self { id, reason })
    }
}

impl Command for CancelIntent {
    const NAME: &'static str = "cancel payment_intent";

    async fn act(self, tx: &mut Tx) -> Result<Answer, Failure> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(Refusal::not_found("payment_intent", &self.id, "intent").into());
        };
        if !matches!(intent.status.as_str(), "requires_payment_method" | "requires_confirmation") {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of \
                 the following statuses may be canceled: requires_payment_method, requires_confirmation.",
                intent.status
            );
            return Err(Refusal::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        }
        let canceled = intents::cancel(tx, &self.id, self.reason.as_deref()).await?;
        Ok(Answer::ok(&objects::payment_intent(&canceled)))
    }
}
