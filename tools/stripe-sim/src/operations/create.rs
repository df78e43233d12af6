//! `POST /v1/payment_intents` with `confirm=true`: creates a payment intent, and charges its card at once.

use std::time::Duration;

use database::{Tx, UnitOfWork};
use serde_json::json;

use super::attempt::AttemptOutcome;
use super::balance::{self, Movement};
use super::cards::Card;
use crate::keys::Response;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::balance::BalanceTransaction;
use crate::store::charges::Charge;
use crate::store::intents::Intent;
use crate::store::{Metadata, new_id};
use crate::webhooks::emit;
use crate::{bank, objects};

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
    payment_method: String,
    capture_method: &'static str,
    metadata: Metadata,
    expand: bool,
}

/// The smallest charge, in minor units, as Stripe documents it for the currencies of this project.
fn least(currency: &str) -> i64 {
    match currency {
        "gbp" => 30,
        "pln" => 200,
        "dkk" => 250,
        "nok" | "sek" => 300,
        "mxn" => 1_000,
        "czk" => 1_500,
        "huf" => 17_500,
        _ => 50,
    }
}

impl CreateIntent {
    pub(crate) fn read(mut form: Form) -> Result<Self, ApiError> {
        let amount = form.amount("amount")?.ok_or_else(|| ApiError::missing("amount"))?;
        let currency = form.required("currency")?.to_ascii_lowercase();
        if !CURRENCIES.contains(&currency.as_str()) {
            return Err(ApiError::invalid(format!("Invalid currency: {currency}")).param("currency"));
        }
        if amount < least(&currency) {
            let error = ApiError::invalid("Amount must convert to at least 50 cents.");
            return Err(error.code("amount_too_small").param("amount"));
        }
        let Some(payment_method) = form.text("payment_method")? else {
            let message = "You cannot confirm this PaymentIntent because it's missing a payment method.";
            return Err(ApiError::unexpected_state(message, None));
        };
        if !form.flag("confirm")? {
            return Err(ApiError::invalid("Only confirm=true is offered here.").param("confirm"));
        }
        // Accepted and ignored: the card's holder is never present here.
        for name in ["off_session", "error_on_requires_action"] {
            form.flag(name)?;
        }
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
            capture_method: if manual { "manual" } else { "automatic" },
            metadata,
            expand,
        })
    }

    /// Adds the payment intent and its charge to the transaction, and the movement of the balance if the amount was captured.
    async fn add(&self, tx: &mut Tx, outcome: AttemptOutcome) -> database::Result<NewRows> {
        let (id, charge_id, metadata) = (new_id("pi"), new_id("ch"), json!(self.metadata));
        let created = tx.now().await?.timestamp();
        let decline_code = outcome.decline().map(|decline| decline.decline_code().to_owned());
        let captured = if outcome == AttemptOutcome::Charged { self.amount } else { 0 };
        let movement = if captured > 0 {
            Some(balance::record(tx, Movement::Charge, &charge_id, captured, &self.currency).await?)
        } else {
            None
        };
        let intent = Intent {
            id: id.clone(),
            amount: self.amount,
            currency: self.currency.clone(),
            status: outcome.status_of_intent().to_owned(),
            // A declined card is removed from the intent, which then needs another one.
            payment_method: decline_code.is_none().then(|| self.payment_method.clone()),
            latest_charge: Some(charge_id.clone()),
            decline_code: decline_code.clone(),
            cancellation_reason: None,
            canceled_at: None,
            metadata: metadata.clone(),
            created,
            capture_method: self.capture_method.to_owned(),
            amount_received: captured,
        };
        let charge = Charge {
            id: charge_id,
            payment_intent: id,
            amount: self.amount,
            amount_refunded: 0,
            currency: self.currency.clone(),
            payment_method: self.payment_method.clone(),
            status: outcome.status_of_charge().to_owned(),
            created,
            amount_captured: captured,
            decline_code,
            balance_transaction: movement.as_ref().map(|movement| movement.id.clone()),
            metadata,
        };
        tx.buffer(intent.clone());
        tx.buffer(charge.clone());
        Ok(NewRows { intent, charge, movement })
    }
}

struct NewRows {
    intent: Intent,
    charge: Charge,
    movement: Option<BalanceTransaction>,
}

impl Command for CreateIntent {
    const NAME: &'static str = "create payment_intent";
    const ONLY_ADDS: bool = true;

    fn card(&self) -> Option<Card> {
        Card::of(&self.payment_method)
    }

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, bank_delay: Duration) -> Result<Response, Error> {
        let Some(card) = self.card() else {
            return Err(ApiError::no_such("PaymentMethod", &self.payment_method, "payment_method").into());
        };
        let outcome = AttemptOutcome::of(card, self.capture_method == "manual");
        let NewRows { intent, charge, movement } = self.add(tx, outcome).await?;
        if let AttemptOutcome::Processing(decision) = outcome {
            bank::schedule(tx, decision, &intent.id, bank_delay).await?;
        }
        let object = objects::payment_intent(&intent);
        emit(tx, cause, outcome.event(), object.clone()).await?;
        Ok(match outcome.decline() {
            Some(decline) => Response::from(&ApiError::declined(decline, &charge.id, object)),
            None if self.expand => {
                Response::ok(&objects::expanded_payment_intent(&intent, Some(&charge), movement.as_ref()))
            }
            None => Response::ok(&object),
        })
    }
}
