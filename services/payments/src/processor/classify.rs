//! Reads a response of the processor as the outcome of an attempt.
//!
//! A response that is not clear gives `Unknown`. Because a wrong "not charged" leads to a second charge, only a response
//! of the documented form proves that a request had no effect.

use serde::Deserialize;

use super::objects::{ErrorBody, Object};
use super::response::{Movement, ProcessorResponse};
use crate::domain::{AttemptOutcome, LookupResult, UnknownReason};

const UNREADABLE_OBJECT: AttemptOutcome = AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 });

/// Reads the response to a request for `movement`.
pub fn classify(movement: Movement, response: &ProcessorResponse) -> AttemptOutcome {
    match response {
        ProcessorResponse::Received { status: 200, body, .. } => {
            Object::read(body).and_then(|object| object.outcome(movement)).unwrap_or(UNREADABLE_OBJECT)
        }
        ProcessorResponse::NotSent | ProcessorResponse::Lost | ProcessorResponse::Received { .. } => {
            classify_error(response)
        }
    }
}

/// Reads a response that has no object.
fn classify_error(response: &ProcessorResponse) -> AttemptOutcome {
    let (status, replayed, retry_after, body) = match response {
        ProcessorResponse::NotSent => return AttemptOutcome::NotSent,
        ProcessorResponse::Lost => return AttemptOutcome::Unknown(UnknownReason::NoResponse),
        ProcessorResponse::Received { status, replayed, retry_after, body } => {
            (*status, *replayed, *retry_after, body)
        }
    };
    match status {
        // A proxy could send the status alone. An error body of the protocol proves that the processor sent it.
        400 | 402 | 404 => match serde_json::from_slice::<ErrorBody>(body) {
            Ok(ErrorBody { error }) if error.r#type == "idempotency_error" => {
                AttemptOutcome::Unknown(UnknownReason::KeyMismatch)
            }
            Ok(ErrorBody { error }) if status == 402 => AttemptOutcome::Declined { code: error.code() },
            Ok(ErrorBody { error }) => AttemptOutcome::Rejected { code: error.code(), replayed },
            Err(_) => AttemptOutcome::Unknown(UnknownReason::Unreadable { status }),
        },
        401 | 403 | 409 | 429 => AttemptOutcome::NotExecuted { status, retry_after },
        500.. => AttemptOutcome::Unknown(UnknownReason::ServerError { status, replayed }),
        _ => AttemptOutcome::Unknown(UnknownReason::Unreadable { status }),
    }
}

/// Reads all objects that carry the tag of one payment or refund.
///
/// One request takes effect once or not at all. Several effects give `Duplicate`, and an operator must look.
pub(super) fn classify_found(movement: Movement, found: Vec<Object>) -> LookupResult {
    let read = |object: Object| (object.id.clone(), object.outcome(movement).unwrap_or(UNREADABLE_OBJECT));
    let mut found: Vec<_> = found.into_iter().map(read).collect();
    found.sort_by_key(|(_, outcome)| rank(outcome));
    let succeeded =
        found.iter().filter(|(_, outcome)| matches!(outcome, AttemptOutcome::Succeeded(_))).count();
    match found.into_iter().next() {
        None => LookupResult::NotFound,
        Some((object, _)) if succeeded > 1 => {
            LookupResult::Found { object, outcome: AttemptOutcome::Unknown(UnknownReason::Duplicate) }
        }
        Some((_, outcome @ AttemptOutcome::Unknown(UnknownReason::Unreadable { .. }))) => {
            LookupResult::Unanswered(outcome)
        }
        Some((object, outcome)) => LookupResult::Found { object, outcome },
    }
}

/// Sorts outcomes: the lowest rank decides. Unknown states come first, then effects, then states that may still change.
fn rank(outcome: &AttemptOutcome) -> u8 {
    match outcome {
        AttemptOutcome::Unknown(_) => 0,
        AttemptOutcome::Succeeded(_) => 1,
        AttemptOutcome::Processing { .. } => 2,
        AttemptOutcome::RequiresAction { .. } => 3,
        AttemptOutcome::Declined { .. }
        | AttemptOutcome::NotSent
        | AttemptOutcome::NotExecuted { .. }
        | AttemptOutcome::Rejected { .. } => 4,
    }
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The objects, newest first.
    pub items: Vec<Object>,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Object>,
    has_more: bool,
}

/// Reads a page of a list. The error is the outcome of the request.
pub(super) fn read_page(response: &ProcessorResponse) -> Result<Page, AttemptOutcome> {
    let ProcessorResponse::Received { status: 200, body, .. } = response else {
        return Err(classify_error(response));
    };
    let List { data, has_more } = serde_json::from_slice(body).map_err(|_| UNREADABLE_OBJECT)?;
    let next = match data.last() {
        Some(last) if has_more => Some(last.id.clone()),
        // Without an object there is no cursor for the next page.
        None if has_more => return Err(UNREADABLE_OBJECT),
        Some(_) | None => None,
    };
    Ok(Page { items: data, next })
}
