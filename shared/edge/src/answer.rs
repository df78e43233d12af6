//! From the executor's answer to HTTP.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use idempotency::{Answer, Receipt};

use crate::{EdgeSettings, Problem, kind};

const STATUS: &str = "Idempotency-Status";

/// The response of an idempotent command.
pub(crate) fn respond(answer: Answer, settings: &EdgeSettings) -> HttpResponse {
    let mismatch = |kind, detail| Problem::new(kind, detail).with_status(settings.mismatch_status);
    match answer {
        Answer::Executed(receipt) => send(receipt, &[(STATUS, "executed")]),
        Answer::Replayed { receipt, first } => {
            let first = database::time::to_rfc3339(first);
            let marks =
                [("Idempotent-Replayed", "true"), (STATUS, "replayed"), ("Idempotency-Original-Date", first.as_str())];
            send(receipt, &marks)
        }
        Answer::Refused(receipt) => send(receipt, &[]),
        Answer::InProgress => Problem::new(
            &kind::KEY_IN_PROGRESS,
            "The first request with this key has not ended. Wait, then send the same request again.",
        )
        .error_response(),
        Answer::Reused => mismatch(
            &kind::KEY_REUSED,
            "This key was used for a request with another content. Use a new key for a new request.",
        )
        .error_response(),
        Answer::Expired => mismatch(
            &kind::KEY_EXPIRED,
            "This key was used before, and its answer is no longer kept. Read the resource to see what came of it.",
        )
        .error_response(),
    }
}

/// The receipt as it was stored, with marks that are not part of it.
pub(crate) fn send(receipt: Receipt, marks: &[(&str, &str)]) -> HttpResponse {
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
