//! The processor's objects. Only the members that this service needs are read.

use chrono::serde::ts_seconds_option;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::response::Movement;
use crate::domain::{AttemptOutcome, Fee, ProcessorReference, UnknownReason};

/// A `PaymentIntent` or a refund. Its JSON is without what only the outcome of a request needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// The processor's id of the object.
    pub id: String,
    #[serde(rename = "object", skip_serializing)]
    kind: String,
    /// Minor units.
    pub amount: i64,
    /// Of a `PaymentIntent`: the amount that was charged.
    pub amount_received: Option<i64>,
    /// ISO 4217, lower case.
    pub currency: String,
    /// The processor's status, for instance `succeeded`.
    pub status: String,
    /// By the processor's clock.
    #[serde(default, deserialize_with = "ts_seconds_option::deserialize")]
    pub created: Option<DateTime<Utc>>,
    metadata: Option<Metadata>,
    /// Of a `PaymentIntent`: an id, or the expanded charge.
    #[serde(skip_serializing)]
    latest_charge: Option<Value>,
    /// Of a refund: its charge.
    #[serde(skip_serializing)]
    charge: Option<Value>,
    /// Of a refund: the id of its `PaymentIntent`.
    #[serde(default, deserialize_with = "id")]
    pub payment_intent: Option<String>,
    #[serde(skip_serializing)]
    failure_reason: Option<String>,
    #[serde(skip_serializing)]
    last_payment_error: Option<ErrorDetail>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Metadata {
    reference: Option<String>,
    deployment: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ErrorBody {
    pub(super) error: ErrorDetail,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ErrorDetail {
    pub(super) r#type: String,
    code: Option<String>,
    decline_code: Option<String>,
}

impl ErrorDetail {
    /// The most specific code of the error.
    pub(super) fn code(self) -> String {
        self.decline_code.or(self.code).unwrap_or(self.r#type)
    }
}

impl Object {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// The reference in its metadata. On our objects: the id of the payment or refund.
    pub fn reference(&self) -> Option<&str> {
        self.metadata.as_ref()?.reference.as_deref()
    }

    /// The deployment in its metadata.
    pub fn deployment(&self) -> Option<&str> {
        self.metadata.as_ref()?.deployment.as_deref()
    }

    /// Reads the outcome of a request for `movement`. Returns `None` if the object is of another kind or has an unknown
    /// status.
    pub(super) fn outcome(self, movement: Movement) -> Option<AttemptOutcome> {
        let requested = movement.amount();
        if self.amount != requested.amount || !self.currency.eq_ignore_ascii_case(requested.currency.code()) {
            return Some(AttemptOutcome::Unknown(UnknownReason::AmountMismatch));
        }
        match movement {
            Movement::Charge(_) if self.kind == "payment_intent" => self.charged(),
            Movement::Refund(_) if self.kind == "refund" => self.refunded(),
            Movement::Charge(_) | Movement::Refund(_) => None,
        }
    }

    fn charged(self) -> Option<AttemptOutcome> {
        match self.status.as_str() {
            "succeeded" if self.amount_received != Some(self.amount) => {
                Some(AttemptOutcome::Unknown(UnknownReason::AmountMismatch))
            }
            "succeeded" => {
                let charge = self.latest_charge.as_ref().and_then(id_of);
                let fee = self.latest_charge.as_ref().and_then(fee_of);
                Some(AttemptOutcome::Succeeded(ProcessorReference { id: self.id, charge, fee }))
            }
            "processing" => Some(AttemptOutcome::Processing { object: Some(self.id) }),
            // The customer is absent, so no further action or confirmation is possible.
            "requires_action" | "requires_confirmation" => {
                Some(AttemptOutcome::RequiresAction { payment_intent: self.id })
            }
            // With an error, the card was declined after the confirmation. Without one, the object is new, and the
            // request that created it may still confirm it.
            "requires_payment_method" => Some(match self.last_payment_error {
                Some(failure) => AttemptOutcome::Declined { code: failure.code() },
                None => AttemptOutcome::RequiresAction { payment_intent: self.id },
            }),
            "canceled" => Some(AttemptOutcome::Declined { code: "canceled".to_owned() }),
            _ => None,
        }
    }

    fn refunded(self) -> Option<AttemptOutcome> {
        match self.status.as_str() {
            "succeeded" => {
                let charge = self.charge.as_ref().and_then(id_of);
                Some(AttemptOutcome::Succeeded(ProcessorReference { id: self.id, charge, fee: None }))
            }
            "pending" | "requires_action" => Some(AttemptOutcome::Processing { object: Some(self.id) }),
            "failed" | "canceled" => {
                let code = self.failure_reason.unwrap_or(self.status);
                Some(AttemptOutcome::Declined { code })
            }
            _ => None,
        }
    }
}

fn id<'de, D: Deserializer<'de>>(member: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Value>::deserialize(member)?.as_ref().and_then(id_of))
}

/// Reads the id of a member that is an id or an expanded object.
fn id_of(reference: &Value) -> Option<String> {
    let id = if reference.is_object() { reference.get("id")? } else { reference };
    id.as_str().map(str::to_owned)
}

/// Reads the fee of an expanded charge. It is missing until the processor has made the balance transaction.
fn fee_of(charge: &Value) -> Option<Fee> {
    let transaction = charge.get("balance_transaction")?;
    Some(Fee {
        balance_transaction: transaction.get("id")?.as_str()?.to_owned(),
        amount: transaction.get("fee")?.as_i64()?,
        currency: transaction.get("currency")?.as_str()?.to_ascii_uppercase(),
    })
}
