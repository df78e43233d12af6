//! Reads an answer. When in doubt it says so: a wrong "it was not done" charges a card twice.

use std::time::Duration;

use contracts::Money;

use super::objects::{Listed, Object, Refusal};
use crate::domain::{Doubt, Finding, Outcome};

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

impl Answer {
    /// Whether whoever sent it is well: a stored failure tells of another day.
    pub(super) fn shows_health(&self) -> bool {
        match self {
            Self::NotSent | Self::Lost => false,
            Self::Reply { status, replayed, .. } => *status < 500 || *replayed,
        }
    }
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
    pub(super) fn amount(self) -> Money {
        match self {
            Self::Charge(amount) | Self::Refund(amount) => amount,
        }
    }
}

/// What the answer says about what was asked.
pub fn classify(asked: Asked, answer: &Answer) -> Outcome {
    match answer {
        Answer::Reply { status: status @ 200, body, .. } => Object::read(body)
            .and_then(|object| object.outcome(asked))
            .unwrap_or(Outcome::Unknown(Doubt::Unreadable { status: *status })),
        Answer::NotSent | Answer::Lost | Answer::Reply { .. } => classify_other(answer),
    }
}

/// What an answer says that brings nothing of what was asked for.
pub(super) fn classify_other(answer: &Answer) -> Outcome {
    let (status, replayed, retry_after, body) = match answer {
        Answer::NotSent => return Outcome::NotSent,
        Answer::Lost => return Outcome::Unknown(Doubt::NoAnswer),
        Answer::Reply { status, replayed, retry_after, body } => (*status, *replayed, *retry_after, body),
    };
    match status {
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

/// What everything that bears our mark says together. One request of ours has taken effect once, or not at all; more
/// than that is nothing that a program can put right.
pub(super) fn classify_found(asked: Asked, found: Vec<Listed>) -> Finding {
    let read = |item: Listed| {
        let object = item.id.clone();
        let unreadable = Outcome::Unknown(Doubt::Unreadable { status: 200 });
        (object, item.into_object().outcome(asked).unwrap_or(unreadable))
    };
    let mut found: Vec<_> = found.into_iter().map(read).collect();
    found.sort_by_key(|(_, outcome)| weight(outcome));
    let done = found.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Succeeded(_))).count();
    match found.into_iter().next() {
        None => Finding::Missing,
        Some((object, _)) if done > 1 => {
            Finding::Found { object, outcome: Outcome::Unknown(Doubt::DoneTwice) }
        }
        Some((_, outcome @ Outcome::Unknown(Doubt::Unreadable { .. }))) => Finding::Unanswered(outcome),
        Some((object, outcome)) => Finding::Found { object, outcome },
    }
}

/// What decides comes first: what nobody expected, then what was done, then what may still be.
fn weight(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Unknown(_) => 0,
        Outcome::Succeeded(_) => 1,
        Outcome::Processing { .. } => 2,
        Outcome::RequiresAction { .. } => 3,
        Outcome::Declined { .. }
        | Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. } => 4,
    }
}
