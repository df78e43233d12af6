//! Requests that are refused, and their keys.

use super::{Case, DRAFT, IDEM, STRIPE, case};
use crate::case_error::{CaseResult, ensure, given};
use crate::http::Request;
use crate::target::Caller;
use crate::trial::{INVALID, Trial, new_key_text};

pub(super) const CASES: &[Case] = &[
    case!(601, a_corrected_request_may_use_its_key, STRIPE, "A request that failed validation did nothing."),
    case!(
        602,
        a_request_of_the_wrong_type_leaves_its_key_unused,
        IDEM,
        "The server did not read the request."
    ),
    case!(
        603,
        a_request_that_is_too_large_leaves_its_key_unused,
        IDEM,
        "The server did not read the request."
    ),
    case!(
        604,
        a_forbidden_request_leaves_its_key_unused,
        IDEM,
        "The server did not execute the command, and the right may be granted later."
    ),
    case!(605, a_request_to_an_unknown_path_leaves_its_key_unused, IDEM, "The server executed no command."),
    case!(
        606,
        a_rejection_is_replayed,
        DRAFT,
        "The result of a command is a success or an error. The server keeps both."
    )
    .optional(),
    case!(
        607,
        after_a_rejection_a_new_key_is_a_new_command,
        DRAFT,
        "The key identifies the command, not the body."
    ),
    case!(
        608,
        a_refusal_is_a_problem_document,
        "RFC 9457",
        "A client can parse every refusal in the same way."
    )
    .optional(),
    case!(
        609,
        a_refusal_does_not_repeat_the_key,
        IDEM,
        "A key in a log lets its reader request the stored response."
    )
    .optional(),
    case!(
        610,
        a_refusal_for_a_reused_key_does_not_say_when_to_retry,
        IDEM,
        "A client that follows Retry-After would retry without end."
    )
    .optional(),
    case!(611, an_error_of_the_server_is_not_kept, IDEM, "Otherwise every retry of the command fails.")
        .optional(),
];

async fn a_corrected_request_may_use_its_key(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    leaves_the_key_unused(trial, &request.clone().with_body("{"), &request, INVALID).await
}

async fn a_request_of_the_wrong_type_leaves_its_key_unused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let wrong = request.clone().with_only_header("Content-Type", "text/plain");
    leaves_the_key_unused(trial, &wrong, &request, &[400, 415]).await
}

async fn a_request_that_is_too_large_leaves_its_key_unused(trial: &Trial<'_>) -> CaseResult {
    let limit = given(trial.target.command.body_limit, "the target has no command.body_limit")?;
    let request = trial.command();
    let large = request.clone().with_body([&request.body[..], &vec![b' '; limit]].concat());
    leaves_the_key_unused(trial, &large, &request, &[400, 413]).await
}

async fn a_forbidden_request_leaves_its_key_unused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    leaves_the_key_unused(trial, &request.clone().by(Caller::Unprivileged), &request, &[403]).await
}

async fn a_request_to_an_unknown_path_leaves_its_key_unused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let unknown = request.clone().with_path(&trial.target.command.unknown_path);
    leaves_the_key_unused(trial, &unknown, &request, &[404]).await
}

async fn a_rejection_is_replayed(trial: &Trial<'_>) -> CaseResult {
    let (request, status) = trial.rejected()?;
    let first = trial.executed_with(&request, &[status]).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(0).await
}

async fn after_a_rejection_a_new_key_is_a_new_command(trial: &Trial<'_>) -> CaseResult {
    let (request, status) = trial.rejected()?;
    trial.executed_with(&request, &[status]).await?;
    trial.executed_with(&request.with_key(trial.new_key()), &[status]).await?;
    trial.executed(&trial.command()).await?;
    trial.has_effects(1).await
}

async fn a_refusal_is_a_problem_document(trial: &Trial<'_>) -> CaseResult {
    for request in [trial.command().with_key(""), trial.command().with_body("{")] {
        let response = trial.send(&request).await?;
        let media_type = response.header("Content-Type").unwrap_or_default();
        ensure(media_type.starts_with("application/problem+json"), || {
            format!("{} has the content type {media_type:?}", response.summary())
        })?;
        let problem = response.json();
        // Each member of a problem may be absent.
        let (status, kind) = (&problem["status"], &problem["type"]);
        let has_status = status.is_null() || *status == response.status;
        ensure(problem.is_object() && has_status && (kind.is_null() || kind.is_string()), || {
            format!("{} is no problem, or one of another status: {problem}", response.status)
        })?;
    }
    Ok(())
}

async fn a_refusal_does_not_repeat_the_key(trial: &Trial<'_>) -> CaseResult {
    let key = new_key_text();
    let request = trial.command().with_key(trial.key(&key));
    trial.executed(&request).await?;
    let response = trial.refused(&request.with_body(trial.body("2")), |it| &it.reused).await?;
    let body = String::from_utf8_lossy(&response.body).into_owned();
    ensure(!body.contains(&key), || format!("the refusal has the key: {body}"))
}

async fn a_refusal_for_a_reused_key_does_not_say_when_to_retry(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    trial.executed(&request).await?;
    let response = trial.refused(&request.with_body(trial.body("2")), |it| &it.reused).await?;
    ensure(response.header("Retry-After").is_none(), || "the refusal has a Retry-After".to_owned())
}

async fn an_error_of_the_server_is_not_kept(trial: &Trial<'_>) -> CaseResult {
    let (request, status) = trial.failing()?;
    trial.executed_with(&request, &[status]).await?;
    let first = trial.executed(&request).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

/// Fails unless a wrong request is refused with one of these statuses, and the right request with its key is executed.
async fn leaves_the_key_unused(
    trial: &Trial<'_>,
    wrong: &Request,
    right: &Request,
    statuses: &[u16],
) -> CaseResult {
    let response = trial.send(wrong).await?;
    response.expect_status(statuses)?;
    trial.has_effects(0).await?;
    trial.executed(right).await?;
    trial.has_effects(1).await
}
