//! Reads an answer. When in doubt it says so: a wrong "it was not done" charges a card twice.

use std::time::Duration;

use contracts::Money;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{Doubt, Outcome, Receipt};

/// What came back, if anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// No connection was made, so nothing was sent.
    NotSent,
    /// The request went out, or may have; no whole answer came.
    Lost,
    /// A whole answer.
    Reply {
        /// The HTTP status.
        status: u16,
        /// It is the key's stored answer (`Idempotent-Replayed`).
        replayed: bool,
        /// `Retry-After`, if it is a number of seconds.
        retry_after: Option<Duration>,
        /// The body.
        body: Vec<u8>,
    },
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To charge so much.
    Charge(Money),
    /// To give back so much.
    Refund(Money),
}

impl Asked {
    fn amount(self) -> Money {
        match self {
            Self::Charge(amount) | Self::Refund(amount) => amount,
        }
    }
}

/// As much of a payment intent or a refund as tells its outcome.
#[derive(Deserialize)]
struct Object {
    id: String,
    #[serde(rename = "object")]
    kind: String,
    amount: i64,
    /// Of an intent: what was really taken.
    amount_received: Option<i64>,
    currency: String,
    status: String,
    /// Of an intent: an id, or the whole charge where the account expands it.
    latest_charge: Option<Value>,
    /// Of a refund.
    charge: Option<Value>,
    failure_reason: Option<String>,
    last_payment_error: Option<Failure>,
}

#[derive(Deserialize)]
struct Refusal {
    error: Failure,
}

#[derive(Deserialize)]
struct Failure {
    r#type: String,
    code: Option<String>,
    decline_code: Option<String>,
}

impl Failure {
    fn code(self) -> String {
        self.decline_code.or(self.code).unwrap_or(self.r#type)
    }
}

/// What the answer says about what was asked.
pub fn classify(asked: Asked, answer: &Answer) -> Outcome {
    let (status, replayed, retry_after, body) = match answer {
        Answer::NotSent => return Outcome::NotSent,
        Answer::Lost => return Outcome::Unknown(Doubt::NoAnswer),
        Answer::Reply { status, replayed, retry_after, body } => (*status, *replayed, *retry_after, body),
    };
    match status {
        200 => object(asked, body).unwrap_or(Outcome::Unknown(Doubt::Unreadable { status })),
        // A status alone may come from anything on the way; with an error of the protocol it is the processor's.
        400 | 402 | 404 => match serde_json::from_slice::<Refusal>(body) {
            Ok(Refusal { error }) if error.r#type == "idempotency_error" => {
                Outcome::Unknown(Doubt::KeyMismatch)
            }
            Ok(Refusal { error }) if status == 402 => Outcome::Declined { code: error.code() },
            Ok(Refusal { error }) => Outcome::Rejected { code: error.code(), replayed },
            Err(_) => Outcome::Unknown(Doubt::Unreadable { status }),
        },
        401 | 403 | 409 | 429 => Outcome::NotExecuted { status, retry_after },
        500.. => Outcome::Unknown(Doubt::ServerError { status, replayed }),
        _ => Outcome::Unknown(Doubt::Unreadable { status }),
    }
}

/// `None` if it is not what was asked for.
fn object(asked: Asked, body: &[u8]) -> Option<Outcome> {
    let object: Object = serde_json::from_slice(body).ok()?;
    let wanted = asked.amount();
    if object.amount != wanted.amount || !object.currency.eq_ignore_ascii_case(wanted.currency.code()) {
        return Some(Outcome::Unknown(Doubt::OtherAmount));
    }
    match asked {
        Asked::Charge(_) if object.kind == "payment_intent" => intent(object),
        Asked::Refund(_) if object.kind == "refund" => refund(object),
        Asked::Charge(_) | Asked::Refund(_) => None,
    }
}

fn intent(intent: Object) -> Option<Outcome> {
    match intent.status.as_str() {
        "succeeded" if intent.amount_received != Some(intent.amount) => {
            Some(Outcome::Unknown(Doubt::OtherAmount))
        }
        "succeeded" => {
            let charge = intent.latest_charge.as_ref().and_then(id_of);
            Some(Outcome::Succeeded(Receipt { id: intent.id, charge }))
        }
        "processing" => Some(Outcome::Processing),
        "requires_action" => Some(Outcome::RequiresAction { intent: intent.id }),
        // Confirmed and back to waiting for a card: the card was refused.
        "requires_payment_method" => {
            let code = intent.last_payment_error.map_or_else(|| "card_declined".to_owned(), Failure::code);
            Some(Outcome::Declined { code })
        }
        "canceled" => Some(Outcome::Declined { code: "canceled".to_owned() }),
        _ => None,
    }
}

fn refund(refund: Object) -> Option<Outcome> {
    match refund.status.as_str() {
        "succeeded" => {
            let charge = refund.charge.as_ref().and_then(id_of);
            Some(Outcome::Succeeded(Receipt { id: refund.id, charge }))
        }
        "pending" | "requires_action" => Some(Outcome::Processing),
        "failed" | "canceled" => {
            let code = refund.failure_reason.unwrap_or(refund.status);
            Some(Outcome::Declined { code })
        }
        _ => None,
    }
}

fn id_of(reference: &Value) -> Option<String> {
    let id = if reference.is_object() { reference.get("id")? } else { reference };
    id.as_str().map(str::to_owned)
}
