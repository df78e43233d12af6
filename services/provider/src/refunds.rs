//! Giving money back: never more than was charged, whoever asks at the same time.

use database::Tx;
use serde_json::json;

use crate::error::{Failure, Refusal};
use crate::form::Form;
use crate::keys::Answer;
use crate::objects;
use crate::processor::Command;
use crate::store::charges::{self, Charge};
use crate::store::intents;
use crate::store::refunds::{self, NewRefund};
use crate::store::{Metadata, new_id};

/// Why a client may refund.
const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// `POST /v1/refunds`: a part of the charge, or all that is left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CreateRefund {
    payment_intent: String,
    amount: Option<i64>,
    reason: Option<String>,
    metadata: Metadata,
}

impl CreateRefund {
    /// Reads the parameters.
    pub(crate) fn read(mut form: Form) -> Result<Self, Refusal> {
        let payment_intent = form.required("payment_intent")?;
        let amount = form.amount("amount")?;
        let reason = form.one_of("reason", REASONS)?;
        let metadata = form.metadata()?;
        form.finish()?;
        Ok(Self { payment_intent, amount, reason, metadata })
    }

    /// How much is given back, which is at most what the charge has left.
    fn amount_of(&self, charge: &Charge) -> Result<i64, Refusal> {
        let left = charge.amount - charge.amount_refunded;
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
}

impl Command for CreateRefund {
    const NAME: &'static str = "refund";

    async fn act(self, tx: &mut Tx) -> Result<Answer, Failure> {
        let Some(charge) = charges::locked(tx, &self.payment_intent).await? else {
            return Err(nothing_to_refund(tx, &self.payment_intent).await?.into());
        };
        let amount = self.amount_of(&charge)?;
        charges::count_refund(tx, &charge.id, amount).await?;
        let refund = NewRefund {
            id: &new_id("re"),
            charge: &charge.id,
            payment_intent: &self.payment_intent,
            amount,
            currency: &charge.currency,
            status: "succeeded",
            reason: self.reason.as_deref(),
            metadata: json!(self.metadata),
        };
        let refund = refunds::insert(tx, &refund).await?;
        Ok(Answer::ok(&objects::refund(&refund)))
    }
}

/// Whether the intent is unknown, or known and not paid.
async fn nothing_to_refund(tx: &mut Tx, intent: &str) -> Result<Refusal, Failure> {
    if intents::locked(tx, intent).await?.is_none() {
        return Ok(Refusal::not_found("payment_intent", intent, "payment_intent"));
    }
    let message = format!("This PaymentIntent ({intent}) does not have a successful charge to refund.");
    Ok(Refusal::unexpected_state(message, None).param("payment_intent"))
}
