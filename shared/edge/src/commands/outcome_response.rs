//! Converts an outcome, or a stored response, to an HTTP response.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use idempotency::{Outcome, StoredResponse};

use crate::{EdgeSettings, Problem, problem_types};

pub(super) const STATUS: &str = "Idempotency-Status";

/// The response to a command with a key.
pub(super) fn outcome_response(outcome: Outcome, settings: &EdgeSettings) -> Result<HttpResponse, Problem> {
    let mismatch = |kind, detail| Problem::new(kind, detail).with_status(settings.mismatch_status);
    match outcome {
        Outcome::Executed(response) => to_http(response, &[(STATUS, "executed")]),
        Outcome::Replayed { response, executed_at } => {
            let executed_at = database::time::to_rfc3339(executed_at);
            let headers = [
                ("Idempotent-Replayed", "true"),
                (STATUS, "replayed"),
                ("Idempotency-Original-Date", executed_at.as_str()),
            ];
            to_http(response, &headers)
        }
        Outcome::Refused(response) => to_http(response, &[]),
        Outcome::InProgress => Err(key_in_progress()),
        Outcome::Reused => Err(mismatch(
            &problem_types::KEY_REUSED,
            "This key was used for a request with other content. Use a new key for a new request.",
        )),
        Outcome::Expired => Err(mismatch(
            &problem_types::KEY_EXPIRED,
            "This key was used before, and its response has been erased. Read the resource to see the result.",
        )),
        Outcome::Fenced => Err(Problem::new(
            &problem_types::KEY_FENCED,
            "The client has fenced this key. This request was not executed, and never will be. Use a new key for a new request.",
        )),
    }
}

/// The refusal of a request whose key is in use.
pub(crate) fn key_in_progress() -> Problem {
    Problem::new(
        &problem_types::KEY_IN_PROGRESS,
        "The first request with this key is still in progress. Wait, then send the same request again.",
    )
}

/// The response as it was stored, with additional headers that are not stored.
pub(super) fn to_http(response: StoredResponse, headers: &[(&str, &str)]) -> Result<HttpResponse, Problem> {
    let status = StatusCode::from_u16(response.status).map_err(|error| {
        tracing::error!(%error, status = response.status, "the stored response has an invalid status");
        Problem::new(&problem_types::INTERNAL, "The stored response cannot be sent.")
    })?;
    let mut http = HttpResponse::build(status);
    for (name, value) in response.headers {
        http.append_header((name, value));
    }
    for header in headers {
        http.insert_header(*header);
    }
    Ok(http.body(response.body))
}
