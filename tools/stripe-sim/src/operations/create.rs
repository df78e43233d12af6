//! `POST /v1/payment_intents`: creates a payment intent, and charges it at once with `confirm=true`.

use std::time::Duration;

use database::{Tx, UnitOfWork};
use serde_json::json;

use super::attempt::{Attempt, Recorded, holder_is_absent};
use super::cards::Card;
use crate::keys::Response;
use crate::objects;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::intents::{Intent, IntentState};
use crate::store::{Metadata, new_id};

/// ISO 4217 in lower case. Another currency is refused, as Stripe refuses it.
const CURRENCIES: &[&str] = &[
    "aed", "aud", "bgn", "brl", "cad", "chf", "clp", "cny", "cop", "czk", "dkk", "eur", "gbp", "hkd", "huf",
    "idr", "ils", "inr", "isk", "jpy", "krw", "mxn", "myr", "nok", "nzd", "pen", "php", "pln", "ron", "sek",
    "sgd", "thb", "try", "twd", "uah", "usd", "vnd", "zar",
];

/// The parameters of the request.
pub(crate) struct CreateIntent {
    amount: i64,
    currency: String,
    payment_method: Option<String>,
    confirm: bool,
    holder_is_absent: bool,
    capture_method: &'static str,
    metadata: Metadata,
    expand: bool,
}

impl CreateIntent {
    pub(crate) fn read(mut form: Form) -> Result<Self, ApiError> {
        let amount = form.amount("amount")?.ok_or_else(|| ApiError::missing("amount"))?;
        let currency = form.required("currency")?.to_ascii_lowercase();
        if !CURRENCIES.contains(&currency.as_str()) {
            return Err(ApiError::invalid(format!("Invalid currency: {currency}")).param("currency"));
        }
        let payment_method = form.text("payment_method")?;
        let confirm = form.flag("confirm")?;
        if confirm && payment_method.is_none() {
            let message = "You cannot confirm this PaymentIntent because it's missing a payment method.";
            return Err(ApiError::unexpected_state(message, None));
        }
        let holder_is_absent = holder_is_absent(&mut form, confirm)?;
        if let Some(other) = form.list("payment_method_types").iter().find(|kind| *kind != "card") {
            let message =
                format!("The payment method type \"{other}\" is not offered here: only \"card\" is.");
            return Err(ApiError::invalid(message).param("payment_method_types"));
        }
        let manual = form.one_of("capture_method", &["automatic", "manual"])?.as_deref() == Some("manual");
        let metadata = form.metadata()?;
        let expand = form.expand()?;
        form.finish()?;
        Ok(Self {
            amount,
            currency,
            payment_method,
            confirm,
            holder_is_absent,
            capture_method: if manual { "manual" } else { "automatic" },
            metadata,
            expand,
        })
    }

    /// Adds the payment intent to the transaction.
    async fn add(&self, tx: &mut Tx, state: IntentState<'_>) -> database::Result<Intent> {
        let intent = Intent {
            id: new_id("pi"),
            amount: self.amount,
            currency: self.currency.clone(),
            status: state.status.to_owned(),
            payment_method: state.payment_method.map(str::to_owned),
            latest_charge: state.latest_charge.map(str::to_owned),
            decline_code: state.decline_code.map(str::to_owned),
            cancellation_reason: None,
            canceled_at: None,
            metadata: json!(self.metadata),
            created: tx.now().await?.timestamp(),
            capture_method: self.capture_method.to_owned(),
            amount_received: state.amount_received,
        };
        tx.buffer(intent.clone());
        Ok(intent)
    }
}

impl Command for CreateIntent {
    const NAME: &'static str = "create payment_intent";
    const ONLY_ADDS: bool = true;

    fn card(&self) -> Option<Card> {
        self.payment_method.as_deref().filter(|_| self.confirm).and_then(Card::of)
    }

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, bank_delay: Duration) -> Result<Response, Error> {
        // An unknown card is refused even if it is not charged yet.
        let manual = self.capture_method == "manual";
        let attempt = match &self.payment_method {
            Some(card) => Some(Attempt::new(card, self.amount, manual, self.holder_is_absent)?),
            None => None,
        };
        if let Some(attempt) = attempt.filter(|_| self.confirm) {
            let intent = self.add(tx, attempt.intent_state()).await?;
            let Recorded { response, charge, movement } =
                attempt.record(tx, cause, bank_delay, &intent).await?;
            return if self.expand && response.status().is_success() {
                let object = objects::expanded_payment_intent(&intent, charge.as_ref(), movement.as_ref());
                Ok(Response::ok(&object))
            } else {
                Ok(response)
            };
        }
        let payment_method = self.payment_method.as_deref();
        let status =
            if payment_method.is_some() { "requires_confirmation" } else { "requires_payment_method" };
        let state = IntentState { status, payment_method, ..IntentState::default() };
        let intent = self.add(tx, state).await?;
        Ok(Response::ok(&objects::payment_intent(&intent)))
    }
}
