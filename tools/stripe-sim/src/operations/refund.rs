//! `POST /v1/refunds`: refunds a charge or a part of it. Refunds never exceed the captured amount, because they are
//! counted under the row lock of their charge.

use std::time::Duration;

use database::Tx;
use serde_json::json;

use super::balance::{self, Movement};
use super::cards::{Card, RefundCourse};
use crate::bank::{self, Decision};
use crate::keys::Response;
use crate::objects;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::charges::{self, Charge};
use crate::store::refunds::{self, NewRefund, Refund};
use crate::store::{Metadata, intents, new_id};
use crate::webhooks::emit;

const REASONS: &[&str] = &["duplicate", "fraudulent", "requested_by_customer"];

/// The parameters of the request.
pub(crate) struct CreateRefund {
    payment_intent: String,
    amount: Option<i64>,
    reason: Option<String>,
    metadata: Metadata,
}

impl CreateRefund {
    pub(crate) fn read(mut form: Form) -> Result<Self, ApiError> {
        let payment_intent = form.required("payment_intent")?;
        let amount = form.amount("amount")?;
        let reason = form.one_of("reason", REASONS)?;
        let metadata = form.metadata()?;
        form.finish()?;
        Ok(Self { payment_intent, amount, reason, metadata })
    }

    /// The amount of the refund: at most what is left of the charge.
    fn amount_of(&self, charge: &Charge) -> Result<i64, ApiError> {
        let left = charge.amount_captured - charge.amount_refunded;
        if left == 0 {
            let message = format!("Charge {} has already been refunded.", charge.id);
            return Err(ApiError::invalid(message).code("charge_already_refunded"));
        }
        let amount = self.amount.unwrap_or(left);
        if amount > left {
            let whole =
                if charge.amount_refunded == 0 { "charge amount" } else { "unrefunded amount on charge" };
            let message = format!("Refund amount ({amount}) is greater than {whole} ({left})");
            return Err(ApiError::invalid(message).param("amount"));
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
        let movement = if pending {
            None
        } else {
            Some(balance::record(tx, Movement::Refund, &id, amount, &charge.currency).await?)
        };
        let refund = NewRefund {
            id: &id,
            charge: &charge.id,
            payment_intent: &self.payment_intent,
            amount,
            currency: &charge.currency,
            status: if pending { "pending" } else { "succeeded" },
            reason: self.reason.as_deref(),
            balance_transaction: movement.as_ref().map(|movement| movement.id.as_str()),
            metadata: json!(self.metadata),
        };
        refunds::insert(tx, &refund).await
    }
}

impl Command for CreateRefund {
    const NAME: &'static str = "refund";

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, bank_delay: Duration) -> Result<Response, Error> {
        let Some(charge) = charges::locked(tx, &self.payment_intent).await? else {
            return Err(nothing_to_refund(tx, &self.payment_intent).await?.into());
        };
        let amount = self.amount_of(&charge)?;
        let (pending, decision) = match Card::of(&charge.payment_method).map(Card::refund_course) {
            None | Some(RefundCourse::Succeeds) => (false, None),
            Some(RefundCourse::PendingThenSucceeds) => (true, Some(Decision::RefundSucceeds)),
            Some(RefundCourse::PendingThenFails) => (true, Some(Decision::RefundFails)),
            Some(RefundCourse::SucceedsThenFails) => (false, Some(Decision::RefundFails)),
        };
        // A pending refund counts too. Otherwise its amount could be refunded twice.
        let charge = charges::count_refund(tx, &charge.id, amount).await?;
        let refund = self.store(tx, &charge, amount, pending).await?;
        if let Some(decision) = decision {
            bank::schedule(tx, decision, &refund.id, bank_delay).await?;
        }
        let object = objects::refund(&refund);
        emit(tx, cause, "refund.created", object.clone()).await?;
        if !pending {
            emit(tx, cause, "charge.refunded", objects::charge(&charge)).await?;
        }
        Ok(Response::ok(&object))
    }
}

/// The intent is unknown, or it has no captured charge.
async fn nothing_to_refund(tx: &mut Tx, intent: &str) -> Result<ApiError, Error> {
    if intents::find(tx, intent).await?.is_none() {
        return Ok(ApiError::not_found("payment_intent", intent, "payment_intent"));
    }
    let message = format!("This PaymentIntent ({intent}) does not have a successful charge to refund.");
    Ok(ApiError::unexpected_state(message, None).param("payment_intent"))
}
