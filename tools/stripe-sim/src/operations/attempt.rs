//! One attempt to charge a card: its outcome, and the rows and events that follow from it.

use std::time::Duration;

use database::{Tx, UnitOfWork};

use super::balance::{self, Movement};
use super::cards::{Card, Decline};
use crate::bank::{self, Decision};
use crate::keys::Response;
use crate::objects;
use crate::processor::Cause;
use crate::protocol::{ApiError, Error, Form};
use crate::store::balance::BalanceTransaction;
use crate::store::charges::Charge;
use crate::store::intents::{Intent, IntentState};
use crate::store::new_id;
use crate::webhooks::emit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttemptOutcome {
    Charged,
    /// The amount is reserved until it is captured.
    Authorized,
    /// The bank decides later.
    Processing(Decision),
    /// The card's holder must act first.
    RequiresAction,
    Declined(Decline),
}

/// One attempt to charge a card.
pub(crate) struct Attempt<'a> {
    outcome: AttemptOutcome,
    payment_method: &'a str,
    amount: i64,
    charge: Option<String>,
}

/// What an attempt has added to its transaction.
pub(crate) struct Recorded {
    pub(crate) response: Response,
    pub(crate) charge: Option<Charge>,
    pub(crate) movement: Option<BalanceTransaction>,
}

/// Reads whether the card's holder is absent. Without a confirmation, no parameter may say so.
pub(crate) fn holder_is_absent(form: &mut Form, confirm: bool) -> Result<bool, ApiError> {
    let mut absent = false;
    for name in ["off_session", "error_on_requires_action"] {
        let given = form.flag(name)?;
        if given && !confirm {
            let message = format!("{name} can only be true together with confirm=true.");
            return Err(ApiError::invalid(message).param(name));
        }
        absent |= given;
    }
    Ok(absent)
}

impl<'a> Attempt<'a> {
    /// Charges the card. With `manual`, the capture is a request of its own.
    pub(crate) fn new(
        payment_method: &'a str,
        amount: i64,
        manual: bool,
        holder_is_absent: bool,
    ) -> Result<Self, ApiError> {
        let Some(card) = Card::of(payment_method) else {
            return Err(ApiError::no_such("PaymentMethod", payment_method, "payment_method"));
        };
        let outcome = match card {
            Card::Declines(decline) => AttemptOutcome::Declined(decline),
            Card::RequiresAuthentication if holder_is_absent => {
                AttemptOutcome::Declined(Decline::AuthenticationRequired)
            }
            Card::RequiresAuthentication => AttemptOutcome::RequiresAction,
            _ if manual => AttemptOutcome::Authorized,
            Card::Processes(decision) => AttemptOutcome::Processing(decision),
            Card::Charges | Card::ChargesWithoutReply | Card::ChargesSlowly | Card::Refunds(_) => {
                AttemptOutcome::Charged
            }
        };
        let charge = (outcome != AttemptOutcome::RequiresAction).then(|| new_id("ch"));
        Ok(Self { outcome, payment_method, amount, charge })
    }

    fn decline(&self) -> Option<Decline> {
        if let AttemptOutcome::Declined(decline) = self.outcome { Some(decline) } else { None }
    }

    fn amount_captured(&self) -> i64 {
        if self.outcome == AttemptOutcome::Charged { self.amount } else { 0 }
    }

    /// The state of the payment intent after the attempt.
    pub(crate) fn intent_state(&self) -> IntentState<'_> {
        let decline = self.decline();
        IntentState {
            status: match self.outcome {
                AttemptOutcome::Charged => "succeeded",
                AttemptOutcome::Authorized => "requires_capture",
                AttemptOutcome::Processing(_) => "processing",
                AttemptOutcome::RequiresAction => "requires_action",
                AttemptOutcome::Declined(_) => "requires_payment_method",
            },
            // A declined card is removed from the intent, which then needs another one.
            payment_method: decline.is_none().then_some(self.payment_method),
            latest_charge: self.charge.as_deref(),
            amount_received: self.amount_captured(),
            decline_code: decline.map(Decline::decline_code),
        }
    }

    /// Writes the charge, the balance transaction, the bank decision and the event, and returns the response. The
    /// caller has stored the intent in the state of [`Attempt::intent_state`].
    pub(crate) async fn record(
        &self,
        tx: &mut Tx,
        cause: &Cause<'_>,
        bank_delay: Duration,
        intent: &Intent,
    ) -> Result<Recorded, Error> {
        let (charge, movement) = self.add_charge(tx, intent).await?;
        let object = objects::payment_intent(intent);
        let event = match self.outcome {
            AttemptOutcome::Charged => "payment_intent.succeeded",
            AttemptOutcome::Authorized => "payment_intent.amount_capturable_updated",
            AttemptOutcome::Processing(decision) => {
                bank::schedule(tx, decision, &intent.id, bank_delay).await?;
                "payment_intent.processing"
            }
            AttemptOutcome::RequiresAction => "payment_intent.requires_action",
            AttemptOutcome::Declined(_) => "payment_intent.payment_failed",
        };
        emit(tx, cause, event, object.clone()).await?;
        let response = match self.decline() {
            Some(decline) => cause.response(ApiError::declined(decline, self.charge.as_deref(), object)),
            None => Response::ok(&object),
        };
        Ok(Recorded { response, charge, movement })
    }

    /// Adds the charge and the movement of the balance, if there are any.
    async fn add_charge(
        &self,
        tx: &mut Tx,
        intent: &Intent,
    ) -> Result<(Option<Charge>, Option<BalanceTransaction>), Error> {
        let Some(id) = &self.charge else { return Ok((None, None)) };
        let status = match self.outcome {
            AttemptOutcome::Charged | AttemptOutcome::Authorized => "succeeded",
            AttemptOutcome::Processing(_) | AttemptOutcome::RequiresAction => "pending",
            AttemptOutcome::Declined(_) => "failed",
        };
        let movement = if self.outcome == AttemptOutcome::Charged {
            Some(balance::record(tx, Movement::Charge, id, self.amount, &intent.currency).await?)
        } else {
            None
        };
        let charge = Charge {
            id: id.clone(),
            payment_intent: intent.id.clone(),
            amount: self.amount,
            amount_refunded: 0,
            currency: intent.currency.clone(),
            payment_method: self.payment_method.to_owned(),
            status: status.to_owned(),
            created: tx.now().await?.timestamp(),
            amount_captured: self.amount_captured(),
            decline_code: self.decline().map(|decline| decline.decline_code().to_owned()),
            balance_transaction: movement.as_ref().map(|movement| movement.id.clone()),
            metadata: intent.metadata.clone(),
        };
        tx.buffer(charge.clone());
        Ok((Some(charge), movement))
    }
}
