//! `POST /v1/payment_intents`: an intent, charged at once if it is also confirmed.

use database::Tx;
use serde_json::json;

use super::cards::Card;
use super::charging::Attempt;
use super::confirm::Presence;
use super::currencies;
use crate::keys::Answer;
use crate::objects;
use crate::processor::{Command, Occasion};
use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::store::intents::{self, NewIntent, Standing};
use crate::store::{Metadata, new_id};

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateIntent {
    amount: i64,
    currency: String,
    payment_method: Option<String>,
    presence: Option<Presence>,
    capture_method: &'static str,
    description: Option<String>,
    metadata: Metadata,
    expand: Expand,
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
        let presence = Presence::read(&mut form, confirm)?;
        if let Some(other) = form.list("payment_method_types").iter().find(|kind| *kind != "card") {
            let message =
                format!("The payment method type \"{other}\" is not offered here: only \"card\" is.");
            return Err(Refusal::invalid(message).param("payment_method_types"));
        }
        let capture_method =
            match form.one_of("capture_method", &["automatic", "automatic_async", "manual"])? {
                Some(manual) if manual == "manual" => "manual",
                Some(later) if later == "automatic_async" => "automatic_async",
                _ => "automatic",
            };
        let description = form.text("description")?;
        let metadata = form.metadata()?;
        let expand = Expand::read(&mut form)?;
        form.finish()?;
        Ok(Self {
            amount,
            currency,
            payment_method,
            presence: confirm.then_some(presence),
            capture_method,
            description,
            metadata,
            expand,
        })
    }

    /// The card that would be charged; `None` if nothing is charged, or no such card exists.
    pub(crate) fn card(&self) -> Option<Card> {
        self.presence.and(self.payment_method.as_deref()).and_then(Card::of)
    }

    async fn store(&self, tx: &mut Tx) -> Result<Answer, Failure> {
        let standing = Standing {
            status: if self.payment_method.is_some() {
                "requires_confirmation"
            } else {
                "requires_payment_method"
            },
            payment_method: self.payment_method.as_deref(),
            ..Standing::default()
        };
        let intent = self.insert(tx, standing).await?;
        Ok(Answer::ok(&objects::payment_intent(&intent)))
    }

    async fn insert(&self, tx: &mut Tx, standing: Standing<'_>) -> database::Result<intents::Intent> {
        let new = NewIntent {
            id: &new_id("pi"),
            amount: self.amount,
            currency: &self.currency,
            capture_method: self.capture_method,
            description: self.description.as_deref(),
            metadata: json!(self.metadata),
            standing,
        };
        intents::insert(tx, &new).await
    }
}

impl Command for CreateIntent {
    const NAME: &'static str = "create payment_intent";

    fn card(&self) -> Option<Card> {
        CreateIntent::card(self)
    }

    fn expand(&self) -> Option<&Expand> {
        Some(&self.expand)
    }

    async fn act(&self, tx: &mut Tx, on: &Occasion) -> Result<Answer, Failure> {
        let Some(payment_method) = &self.payment_method else { return self.store(tx).await };
        let manual = self.capture_method == "manual";
        let holder_is_there = self.presence.is_some_and(Presence::holder_is_there);
        // Also what is not charged yet must be a card.
        let attempt = Attempt::make(payment_method, self.amount, manual, holder_is_there)?;
        if self.presence.is_none() {
            return self.store(tx).await;
        }
        let intent = self.insert(tx, attempt.standing()).await?;
        attempt.settle(tx, on, &intent).await
    }
}
