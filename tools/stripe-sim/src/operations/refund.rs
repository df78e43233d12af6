//! `POST /v1/refunds`: a part of the charge, or all that is left of it; never more, whoever asks at the same time.

use database::Tx;
use serde_json::json;

use super::cards::{Card, RefundCourse};
use super::money;
use crate::bank::Decision;
use crate::keys::Answer;
use crate::objects;
use crate::processor::{Command, Occasion};
use crate::protocol::{Expand, Failure, Form, Refusal};
use crate::store::charges::{self, Charge};
use crate::store::refunds::{self, NewRefund, Refund};
use crate::store::{Metadata, intents, new_id};
use crate::webhooks::events;

/// Why a client may refund.
const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateRefund {
    payment_intent: String,
    amount: Option<i64>,
    reason: Option<String>,
    metadata: Metadata,
    expand: Expand,
}

impl CreateRefund {
    /// Reads the parameters.
    pub(crate) fn read(mut form: Form) -> Result<Self, Refusal> {
        let payment_intent = form.required("payment_intent")?;
        let amount = form.amount("amount")?;
        let reason = form.one_of("reason", REASONS)?;
        let metadata = form.metadata()?;
        let expand = Expand::read(&mut form)?;
        form.finish()?;
        Ok(Self { payment_intent, amount, reason, metadata, expand })
    }

    /// How much is given back, which is at most what the charge has left.
    fn amount_of(&self, charge: &Charge) -> Result<i64, Refusal> {
        let left = charge.amount_captured - charge.amount_refunded;
        if left == 0 {
            let message = format!("Charge {} has already been refunded.", charge.id);
            return Err(Refusal::invalid(message).code("charge_already_refunded"));
        }
        let amount = self.amount.unwrap_or(left);
        if amount > left {
            let whole =
                if charge.amount_refunded == 0 { "charge amount" } else { "unrefunded amount on charge" };
            let message = format!("Refund amount ({amount}) is greater than {whole} ({left})");
            return Err(Refusal::invalid(message).param("amount"));
        }
        Ok(amount)
    }

    async fn store(
        &self,
        tx: &mut Tx,
        charge: &Charge,
        amount: i64,
        pending: bool,
    ) -> database::Result<Refund> {
        let id = new_id("re");
        let movement =
            if pending { None } else { Some(money::given_back(tx, &id, amount, &charge.currency).await?) };
        let refund = NewRefund {
            id: &id,
            charge: &charge.id,
            payment_intent: &self.payment_intent,
            amount,
            currency: &charge.currency,
            status: if pending { "pending" } else { "succeeded" },
            reason: self.reason.as_deref(),
            balance_transaction: movement.as_deref(),
            metadata: json!(self.metadata),
        };
        refunds::insert(tx, &refund).await
    }
}

impl Command for CreateRefund {
    const NAME: &'static str = "refund";

    fn expand(&self) -> Option<&Expand> {
        Some(&self.expand)
    }

    async fn act(&self, tx: &mut Tx, on: &Occasion) -> Result<Answer, Failure> {
        let Some(charge) = charges::locked(tx, &self.payment_intent).await? else {
            return Err(nothing_to_refund(tx, &self.payment_intent).await?.into());
        };
        let amount = self.amount_of(&charge)?;
        let course = on.refund_course.unwrap_or_else(|| {
            Card::of(&charge.payment_method).map_or(RefundCourse::Succeeds, Card::refund_course)
        });
        let (pending, later) = match course {
            RefundCourse::Succeeds => (false, None),
            RefundCourse::PendingThenSucceeds => (true, Some(Decision::RefundSucceeds)),
            RefundCourse::PendingThenFails => (true, Some(Decision::RefundFails)),
            RefundCourse::SucceedsThenFails => (false, Some(Decision::RefundFails)),
        };
        // A pending one is counted, too: what it asks for must not be given twice.
        let charge = charges::count_refund(tx, &charge.id, amount).await?;
        let refund = self.store(tx, &charge, amount, pending).await?;
        if let Some(decision) = later {
            on.bank_decides(tx, decision, &refund.id).await?;
        }
        let object = objects::refund(&refund);
        events::emit(tx, on, "refund.created", &object).await?;
        if !pending {
            events::emit(tx, on, "charge.refunded", &objects::charge(&charge)).await?;
        }
        Ok(Answer::ok(&object))
    }
}

/// Whether the intent is unknown, or known and not paid.
async fn nothing_to_refund(tx: &mut Tx, intent: &str) -> Result<Refusal, Failure> {
    if intents::find(tx, intent).await?.is_none() {
        return Ok(Refusal::not_found("payment_intent", intent, "payment_intent"));
    }
    let message = format!("This PaymentIntent ({intent}) does not have a successful charge to refund.");
    Ok(Refusal::unexpected_state(message, None).param("payment_intent"))
}
