//! `POST /v1/payment_intents/{id}/cancel`: a canceled payment intent is never charged.

use std::time::Duration;

use database::Tx;

use crate::keys::Response;
use crate::objects;
use crate::processor::{Cause, Command};
use crate::protocol::{ApiError, Error, Form};
use crate::store::intents;
use crate::webhooks::emit;

const REASONS: &[&str] = &["abandoned", "duplicate", "fraudulent", "requested_by_customer"];

/// The statuses in which an intent can be canceled. In `processing` the bank already has it.
const OPEN: &[&str] = &["requires_payment_method", "requires_capture"];

/// The parameters of the request.
pub(crate) struct CancelIntent {
    id: String,
    reason: Option<String>,
}

impl CancelIntent {
    pub(crate) fn read(id: String, mut form: Form) -> Result<Self, ApiError> {
        let reason = form.one_of("cancellation_reason", REASONS)?;
        form.finish()?;
        Ok(Self { id, reason })
    }
}

impl Command for CancelIntent {
    const NAME: &'static str = "cancel payment_intent";

    async fn execute(&self, tx: &mut Tx, cause: &Cause<'_>, _: Duration) -> Result<Response, Error> {
        let Some(intent) = intents::locked(tx, &self.id).await? else {
            return Err(ApiError::not_found("payment_intent", &self.id, "intent").into());
        };
        if !OPEN.contains(&intent.status.as_str()) {
            let message = format!(
                "You cannot cancel this PaymentIntent because it has a status of {}. Only a PaymentIntent with one of \
                 the following statuses may be canceled: {}.",
                intent.status,
                OPEN.join(", ")
            );
            return Err(ApiError::unexpected_state(message, Some(objects::payment_intent(&intent))).into());
        }
        let canceled = intents::cancel(tx, &self.id, self.reason.as_deref()).await?;
        let object = objects::payment_intent(&canceled);
        emit(tx, cause, "payment_intent.canceled", object.clone()).await?;
        Ok(Response::ok(&object))
    }
}
