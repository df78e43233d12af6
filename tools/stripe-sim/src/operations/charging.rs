//! Asking a card for money: what comes of it, and what the books then say.

use database::Tx;

use super::cards::{Card, Decline};
use super::money;
use crate::bank::Decision;
use crate::keys::Answer;
use crate::objects;
use crate::processor::Occasion;
use crate::protocol::{Failure, Refusal};
use crate::store::charges::{self, NewCharge};
use crate::store::intents::{Intent, Standing};
use crate::store::new_id;
use crate::webhooks::events;

/// What comes of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Charged,
    /// The money is set aside, and waits to be captured.
    Held,
    /// The bank decides later.
    Open(Decision),
    /// The card's holder must act first.
    NeedsItsHolder,
    Declined(Decline),
}

/// One attempt to charge a card.
pub(crate) struct Attempt<'a> {
    verdict: Verdict,
    payment_method: &'a str,
    amount: i64,
    charge: Option<String>,
}

impl<'a> Attempt<'a> {
    /// Asks the card. `manual`: the capture is a step of its own. `holder_is_there`: the card's holder can be asked to
    /// prove who they are.
    pub(crate) fn make(
        payment_method: &'a str,
        amount: i64,
        manual: bool,
        holder_is_there: bool,
    ) -> Result<Self, Refusal> {
        let Some(card) = Card::of(payment_method) else {
            return Err(Refusal::no_such("PaymentMethod", payment_method, "payment_method"));
        };
        let verdict = match card.asked_for(amount) {
            Card::Declines(decline) => Verdict::Declined(decline),
            Card::NeedsItsHolder if holder_is_there => Verdict::NeedsItsHolder,
            Card::NeedsItsHolder => Verdict::Declined(Decline::AUTHENTICATION),
            Card::ProcessesThenSucceeds if !manual => Verdict::Open(Decision::ChargeSucceeds),
            Card::ProcessesThenFails if !manual => Verdict::Open(Decision::ChargeFails),
            Card::Succeeds
            | Card::ChargesWithoutReply
            | Card::Slow
            | Card::ProcessesThenSucceeds
            | Card::ProcessesThenFails
            | Card::Refunds(_) => {
                if manual {
                    Verdict::Held
                } else {
                    Verdict::Charged
                }
            }
        };
        let charge = (verdict != Verdict::NeedsItsHolder).then(|| new_id("ch"));
        Ok(Self { verdict, payment_method, amount, charge })
    }

    /// Where the intent stands now.
    pub(crate) fn standing(&self) -> Standing<'_> {
        let (status, decline) = match self.verdict {
            Verdict::Charged => ("succeeded", None),
            Verdict::Held => ("requires_capture", None),
            Verdict::Open(_) => ("processing", None),
            Verdict::NeedsItsHolder => ("requires_action", None),
            Verdict::Declined(decline) => ("requires_payment_method", Some(decline)),
        };
        Standing {
            status,
            // A declined card is taken off the intent, which waits for another.
            payment_method: decline.is_none().then_some(self.payment_method),
            latest_charge: self.charge.as_deref(),
            amount_received: if self.verdict == Verdict::Charged { self.amount } else { 0 },
            error_code: decline.map(|decline| decline.code),
            decline_code: decline.and_then(|decline| decline.decline_code),
        }
    }

    /// Writes what belongs to the intent, which the caller has stored as it stands now, and answers.
    pub(crate) async fn settle(
        &self,
        tx: &mut Tx,
        on: &Occasion,
        intent: &Intent,
    ) -> Result<Answer, Failure> {
        if let Some(charge) = &self.charge {
            self.store_charge(tx, charge, intent).await?;
        }
        let object = objects::payment_intent(intent);
        let kind = match self.verdict {
            Verdict::Charged => "payment_intent.succeeded",
            Verdict::Held => "payment_intent.amount_capturable_updated",
            Verdict::Open(decision) => {
                on.bank_decides(tx, decision, &intent.id).await?;
                "payment_intent.processing"
            }
            Verdict::NeedsItsHolder => "payment_intent.requires_action",
            Verdict::Declined(_) => "payment_intent.payment_failed",
        };
        events::emit(tx, on, kind, &object).await?;
        match self.verdict {
            Verdict::Declined(decline) => {
                Ok(on.refused(Refusal::declined(decline, self.charge.as_deref(), object)))
            }
            Verdict::Charged | Verdict::Held | Verdict::Open(_) | Verdict::NeedsItsHolder => {
                Ok(Answer::ok(&object))
            }
        }
    }

    async fn store_charge(&self, tx: &mut Tx, id: &str, intent: &Intent) -> Result<(), Failure> {
        let (status, decline) = match self.verdict {
            Verdict::Charged | Verdict::Held => ("succeeded", None),
            Verdict::Open(_) | Verdict::NeedsItsHolder => ("pending", None),
            Verdict::Declined(decline) => ("failed", Some(decline)),
        };
        let movement = if self.verdict == Verdict::Charged {
            Some(money::captured(tx, id, self.amount, &intent.currency).await?)
        } else {
            None
        };
        let charge = NewCharge {
            id,
            payment_intent: &intent.id,
            amount: self.amount,
            amount_captured: if self.verdict == Verdict::Charged { self.amount } else { 0 },
            currency: &intent.currency,
            payment_method: self.payment_method,
            status,
            error_code: decline.map(|decline| decline.code),
            decline_code: decline.and_then(|decline| decline.decline_code),
            balance_transaction: movement.as_deref(),
            metadata: &intent.metadata,
        };
        Ok(charges::insert(tx, &charge).await?)
    }
}
