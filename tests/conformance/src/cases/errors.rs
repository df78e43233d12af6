//! Requests that are refused, and what becomes of their keys.

use super::{Case, DRAFT, IDEM, STRIPE, case};
use crate::finding::{Verdict, ensure, given};
use crate::http::Request;
use crate::target::Principal;
use crate::trial::{Trial, new_key};

pub(super) const CASES: &[Case] = &[
    case!(601, a_corrected_request_may_use_its_key, STRIPE, "A request that failed validation did nothing."),
    case!(602, a_request_of_the_wrong_type_leaves_its_key_unused, IDEM, "The request was not read."),
    case!(603, a_request_that_is_too_large_leaves_its_key_unused, IDEM, "The request was not read."),
    case!(
        604,
        a_forbidden_request_leaves_its_key_unused,
        IDEM,
        "Rights can be granted; the command was not tried."
    ),
    case!(605, a_request_to_an_unknown_path_leaves_its_key_unused, IDEM, "No command was tried."),
    case!(606, a_rejection_is_replayed, DRAFT, "The result of a request is success or error; both are kept.")
        .optional(),
    case!(607, after_a_rejection_a_new_key_is_a_new_command, DRAFT, "The key decides, not the body."),
    case!(608, a_refusal_is_a_problem_document, "RFC 9457", "A client branches on a code, not on text.")
        .optional(),
    case!(609, a_refusal_does_not_repeat_the_key, IDEM, "Who reads a key in a log can read the response.")
        .optional(),
    case!(
        610,
        a_refusal_for_a_reused_key_does_not_say_when_to_retry,
        IDEM,
        "A client that retries it never ends."
    )
    .optional(),
    case!(
        611,
        an_error_of_the_server_is_not_kept,
        IDEM,
        "A client that retries would never get its command through."
    )
    .optional(),
];

async fn a_corrected_request_may_use_its_key(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    leaves_the_key_unused(trial, &request.clone().with_body("{"), &request, &[400, 422]).await
}

async fn a_request_of_the_wrong_type_leaves_its_key_unused(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let wrong = request.clone().with_only_header("Content-Type", "text/plain");
    leaves_the_key_unused(trial, &wrong, &request, &[400, 415]).await
}

async fn a_request_that_is_too_large_leaves_its_key_unused(trial: &Trial<'_>) -> Verdict {
    let limit = given(trial.target.command.body_limit, "the target has no command.body_limit")?;
    let request = trial.command();
    let large = request.clone().with_body([&request.body[..], &vec![b' '; limit]].concat());
    leaves_the_key_unused(trial, &large, &request, &[400, 413]).await
}

async fn a_forbidden_request_leaves_its_key_unused(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    leaves_the_key_unused(trial, &request.clone().by(Principal::Unprivileged), &request, &[403]).await
}

async fn a_request_to_an_unknown_path_leaves_its_key_unused(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let unknown = request.clone().with_path(&trial.target.command.unknown_path);
    leaves_the_key_unused(trial, &unknown, &request, &[404]).await
}

async fn a_rejection_is_replayed(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.rejected()?;
    let first = trial.executed_with(&request, &[status]).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(0).await
}

async fn after_a_rejection_a_new_key_is_a_new_command(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.rejected()?;
    trial.executed_with(&request, &[status]).await?;
    trial.executed_with(&request.with_key(new_key()), &[status]).await?;
    trial.executed(&trial.command()).await?;
    trial.has_effects(1).await
}

async fn a_refusal_is_a_problem_document(trial: &Trial<'_>) -> Verdict {
    for request in [trial.command().with_key(""), trial.command().with_body("{")] {
        let response = trial.send(&request).await?;
        let media_type = response.header("Content-Type").unwrap_or_default();
        ensure(media_type.starts_with("application/problem+json"), || {
            format!("{} has the content type {media_type:?}", response.summary())
        })?;
        let problem = response.json();
        ensure(problem["status"] == response.status && problem["type"].is_string(), || {
            format!("the problem has not its status and type: {problem}")
        })?;
    }
    Ok(())
}

async fn a_refusal_does_not_repeat_the_key(trial: &Trial<'_>) -> Verdict {
    let key = new_key();
    let request = trial.command().with_key(&key);
    trial.executed(&request).await?;
    let response = trial.refused(&request.with_body(trial.body("2")), |it| &it.reused).await?;
    let body = String::from_utf8_lossy(&response.body).into_owned();
    ensure(!body.contains(&key), || format!("the refusal has the key: {body}"))
}

async fn a_refusal_for_a_reused_key_does_not_say_when_to_retry(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    trial.executed(&request).await?;
    let response = trial.refused(&request.with_body(trial.body("2")), |it| &it.reused).await?;
    ensure(response.header("Retry-After").is_none(), || "the refusal has a Retry-After".to_owned())
}

async fn an_error_of_the_server_is_not_kept(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.failing()?;
    trial.executed_with(&request, &[status]).await?;
    let first = trial.executed(&request).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

/// A wrong request is refused with one of these statuses, and the right one with its key is executed.
async fn leaves_the_key_unused(
    trial: &Trial<'_>,
    wrong: &Request,
    right: &Request,
    statuses: &[u16],
) -> Verdict {
    let response = trial.send(wrong).await?;
    ensure(statuses.contains(&response.status), || {
        format!("expected {statuses:?}, got {}", response.summary())
    })?;
    trial.has_effects(0).await?;
    trial.executed(right).await?;
    trial.has_effects(1).await
}
