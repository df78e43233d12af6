//! From the executor's answer to HTTP.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use idempotency::{Outcome, StoredResponse};

use crate::{EdgeSettings, Problem, problem_types};

const STATUS: &str = "Idempotency-Status";

/// The response of an idempotent command.
pub(crate) fn respond(answer: Outcome, settings: &EdgeSettings) -> HttpResponse {
    let mismatch = |kind, detail| Problem::new(kind, detail).with_status(settings.mismatch_status);
    match answer {
        Outcome::Executed(receipt) => send(receipt, &[(STATUS, "executed")]),
        Outcome::Replayed { receipt, first } => {
            let first = database::time::to_rfc3339(first);
            let marks =
                [("Idempotent-Replayed", "true"), (STATUS, "replayed"), ("Idempotency-Original-Date", first.as_str())];
            send(receipt, &marks)
        }
        Outcome::Refused(receipt) => send(receipt, &[]),
        Outcome::InProgress => Problem::new(
            &problem_types::KEY_IN_PROGRESS,
            "The first request with this key has not ended. Wait, then send the same request again.",
        )
        .error_response(),
        Outcome::Reused => mismatch(
            &problem_types::KEY_REUSED,
            "This key was used for a request with another content. Use a new key for a new request.",
        )
        .error_response(),
        Outcome::Expired => mismatch(
            &problem_types::KEY_EXPIRED,
            "This key was used before, and its answer is no longer kept. Read the resource to see what came of it.",
        )
        .error_response(),
    }
}

/// The receipt as it was stored, with marks that are not part of it.
pub(crate) fn send(receipt: StoredResponse, marks: &[(&str, &str)]) -> HttpResponse {
    let status = StatusCode::from_u16(receipt.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for (name, value) in receipt.headers {
        response.append_header((name, value));
    }
    for mark in marks {
        response.insert_header(*mark);
    }
    response.body(receipt.body)
}
