//! The processor's objects, as much of them as is read here.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;

use super::classify::{Answer, Asked, classify_other};
use crate::domain::{Doubt, Fee, Outcome, ProcessorReference};

/// As much of a payment intent or a refund as tells its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Object {
    id: String,
    #[serde(rename = "object")]
    kind: String,
    amount: i64,
    /// Of an intent: what was really taken.
    amount_received: Option<i64>,
    currency: String,
    status: String,
    created: Option<i64>,
    metadata: Option<Metadata>,
    /// Of an intent: an id, or the whole charge where it is expanded.
    latest_charge: Option<Value>,
    /// Of a refund.
    charge: Option<Value>,
    /// Of a refund.
    payment_intent: Option<Value>,
    failure_reason: Option<String>,
    last_payment_error: Option<Failure>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Metadata {
    reference: Option<String>,
    deployment: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Refusal {
    pub(super) error: Failure,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Failure {
    pub(super) r#type: String,
    code: Option<String>,
    decline_code: Option<String>,
}

impl Failure {
    pub(super) fn code(self) -> String {
        self.decline_code.or(self.code).unwrap_or(self.r#type)
    }
}

impl Object {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// `None` if it is not what was asked for.
    pub(super) fn outcome(self, asked: Asked) -> Option<Outcome> {
        let wanted = asked.amount();
        if self.amount != wanted.amount || !self.currency.eq_ignore_ascii_case(wanted.currency.code()) {
            return Some(Outcome::Unknown(Doubt::OtherAmount));
        }
        match asked {
            Asked::Charge(_) if self.kind == "payment_intent" => self.charged(),
            Asked::Refund(_) if self.kind == "refund" => self.refunded(),
            Asked::Charge(_) | Asked::Refund(_) => None,
        }
    }

    fn charged(self) -> Option<Outcome> {
        match self.status.as_str() {
            "succeeded" if self.amount_received != Some(self.amount) => {
                Some(Outcome::Unknown(Doubt::OtherAmount))
            }
            "succeeded" => {
                let charge = self.latest_charge.as_ref().and_then(id_of);
                let fee = self.latest_charge.as_ref().and_then(fee_of);
                Some(Outcome::Succeeded(ProcessorReference { id: self.id, charge, fee }))
            }
            "processing" => Some(Outcome::Processing { object: Some(self.id) }),
            // Nobody is there to act or to confirm, whatever it waits for.
            "requires_action" | "requires_confirmation" => Some(Outcome::RequiresAction { intent: self.id }),
            // Confirmed and back to waiting for a card: the card was refused. Without a refusal it has just been made,
            // and may still be confirmed by the request that made it.
            "requires_payment_method" => Some(match self.last_payment_error {
                Some(failure) => Outcome::Declined { code: failure.code() },
                None => Outcome::RequiresAction { intent: self.id },
            }),
            "canceled" => Some(Outcome::Declined { code: "canceled".to_owned() }),
            _ => None,
        }
    }

    fn refunded(self) -> Option<Outcome> {
        match self.status.as_str() {
            "succeeded" => {
                let charge = self.charge.as_ref().and_then(id_of);
                Some(Outcome::Succeeded(ProcessorReference { id: self.id, charge, fee: None }))
            }
            "pending" | "requires_action" => Some(Outcome::Processing { object: Some(self.id) }),
            "failed" | "canceled" => {
                let code = self.failure_reason.unwrap_or(self.status);
                Some(Outcome::Declined { code })
            }
            _ => None,
        }
    }
}

fn id_of(reference: &Value) -> Option<String> {
    let id = if reference.is_object() { reference.get("id")? } else { reference };
    id.as_str().map(str::to_owned)
}

/// Known once the balance transaction is made, and told only where it is expanded.
fn fee_of(charge: &Value) -> Option<Fee> {
    let entry = charge.get("balance_transaction")?;
    Some(Fee {
        balance_transaction: entry.get("id")?.as_str()?.to_owned(),
        amount: entry.get("fee")?.as_i64()?,
        currency: entry.get("currency")?.as_str()?.to_ascii_uppercase().parse().ok()?,
    })
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The processor's name of it.
    pub id: String,
    /// The payment's or refund's id here, if it is ours.
    pub reference: Option<String>,
    /// The deployment that asked for it, if it bears one's name.
    pub deployment: Option<String>,
    /// In minor units.
    pub amount: i64,
    /// Of a payment intent: what was really taken.
    pub received: Option<i64>,
    /// As the processor writes it, in lower case.
    pub currency: String,
    /// As the processor has it, for instance `succeeded`.
    pub status: String,
    /// By the processor's clock.
    pub created: Option<DateTime<Utc>>,
    /// Of a refund: the processor's name of the payment intent.
    pub payment_intent: Option<String>,
    object: Object,
}

impl Listed {
    pub(super) fn into_object(self) -> Object {
        self.object
    }
}

impl From<Object> for Listed {
    fn from(object: Object) -> Self {
        let metadata = object.metadata.as_ref();
        Self {
            id: object.id.clone(),
            reference: metadata.and_then(|metadata| metadata.reference.clone()),
            deployment: metadata.and_then(|metadata| metadata.deployment.clone()),
            amount: object.amount,
            received: object.amount_received,
            currency: object.currency.clone(),
            status: object.status.clone(),
            created: object.created.and_then(|seconds| DateTime::from_timestamp(seconds, 0)),
            payment_intent: object.payment_intent.as_ref().and_then(id_of),
            object,
        }
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Newest first.
    pub items: Vec<Listed>,
    /// Where the next page begins; `None` if this is the last.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Object>,
    has_more: bool,
}

/// A page, or what came instead.
pub(super) fn read_page(answer: &Answer) -> Result<Page, Outcome> {
    let Answer::Reply { status: 200, body, .. } = answer else { return Err(classify_other(answer)) };
    let unreadable = || Outcome::Unknown(Doubt::Unreadable { status: 200 });
    let List { data, has_more } = serde_json::from_slice(body).map_err(|_| unreadable())?;
    let next = match data.last() {
        Some(last) if has_more => Some(last.id.clone()),
        // More, and nothing to go on from: read like this, it would never end.
        None if has_more => return Err(unreadable()),
        Some(_) | None => None,
    };
    Ok(Page { items: data.into_iter().map(Listed::from).collect(), next })
}
