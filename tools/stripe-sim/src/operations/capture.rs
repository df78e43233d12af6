//! `POST /v1/payment_intents/{id}/capture`: captures an authorized amount, or a part of it.

use std::time::Duration;

use database::Tx;

use super::balance::{self, Movement};
use crate::keys::Response;
use crate::objects;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::{charges, intents};
use crate::webhooks::emit;

/// The parameters of the request.
pub(crate) struct CaptureIntent {
    id: String,
    amount: Option<i64>,
}

impl CaptureIntent {
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, ApiError> {
        let amount = form.amount("amount_to_capture")?;
        form.finish()?;
        Ok(Self { id, amount })
    }
}

impl Command for CaptureIntent {
    const NAME: &'static str = "capture payment_intent";

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, _: Duration) -> Result<Response, Error> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(ApiError::not_found("payment_intent", &self.id, "intent").into());
        };
        let authorized = intent.latest_charge.as_deref().filter(|_| intent.status == "requires_capture");
        let Some(charge) = authorized else {
            let message = format!(
                "This PaymentIntent could not be captured because it has a status of {}. Only a PaymentIntent with \
                 one of the following statuses may be captured: requires_capture.",
                intent.status
            );
            return Err(ApiError::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        };
        let amount = self.amount.unwrap_or(intent.amount);
        if amount > intent.amount {
            let message =
                "Requested capture amount is greater than the amount you can capture for this charge.";
            let error = ApiError::invalid(message).code("amount_too_large").param("amount_to_capture");
            return Err(error.into());
        }
        let movement = balance::record(tx, Movement::Charge, charge, amount, &intent.currency).await?;
        charges::capture(tx, charge, amount, &movement.id).await?;
        let captured = intents::succeed(tx, &self.id, amount).await?;
        let object = objects::payment_intent(&captured);
        emit(tx, cause, "payment_intent.succeeded", object.clone()).await?;
        Ok(Response::ok(&object))
    }
}
