//! Commands whose outcome comes later.

use futures_util::future::try_join_all;
use serde_json::Value;

use super::{Case, DRAFT, IDEM, case};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{KEY_HEADER, Request, Response};
use crate::target::Caller;
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        901,
        an_accepted_command_says_where_its_outcome_will_be,
        IDEM,
        "A response 202 without Location leaves the client without a way to read the outcome."
    )
    .optional(),
    case!(
        902,
        a_retry_of_an_accepted_command_gets_the_acceptance_again,
        DRAFT,
        "A second acceptance would be a second command."
    ),
    case!(903, an_accepted_command_comes_to_an_end, IDEM, "An operation that never ends is a lost command."),
    case!(
        904,
        twenty_copies_of_an_accepted_command_are_one_effect,
        DRAFT,
        "A client that waits for the outcome sends its request again."
    ),
    case!(
        905,
        an_acceptance_is_replayed_after_the_end,
        IDEM,
        "The replay is the response to the request. The operation shows the outcome."
    )
    .optional(),
    case!(
        906,
        another_body_is_refused_while_the_command_is_pending,
        DRAFT,
        "The key belongs to its request from the beginning."
    ),
    case!(907, an_operation_of_another_tenant_is_unknown, IDEM, "A path is not a credential."),
];

async fn an_accepted_command_says_where_its_outcome_will_be(trial: &Trial<'_>) -> CaseResult {
    let (_, accepted) = accepted(trial).await?;
    let location = accepted.header("Location").unwrap_or_default();
    ensure(location.starts_with('/') || location.starts_with("http"), || {
        format!("Location is {location:?}")
    })?;
    let seconds = accepted.header("Retry-After").and_then(|seconds| seconds.parse::<u32>().ok());
    ensure(seconds.is_some(), || "the acceptance has no Retry-After".to_owned())
}

async fn a_retry_of_an_accepted_command_gets_the_acceptance_again(trial: &Trial<'_>) -> CaseResult {
    let (request, accepted) = accepted(trial).await?;
    let retry = trial.replayed(&request, &accepted).await?;
    ensure(retry.header("Location") == accepted.header("Location"), || {
        "the retry has another Location".to_owned()
    })?;
    trial.has_effects(1).await
}

async fn an_accepted_command_comes_to_an_end(trial: &Trial<'_>) -> CaseResult {
    let (_, accepted) = accepted(trial).await?;
    has_ended(trial, &accepted).await?;
    trial.has_effects(1).await
}

async fn twenty_copies_of_an_accepted_command_are_one_effect(trial: &Trial<'_>) -> CaseResult {
    let (request, accepted) = accepted(trial).await?;
    for retry in try_join_all((0..20).map(|_| trial.send(&request))).await? {
        let is_its = trial.is_replay_of(&retry, &accepted).is_ok() || trial.is_in_progress(&retry);
        ensure(is_its, || format!("a copy got {}", retry.summary()))?;
    }
    has_ended(trial, &accepted).await?;
    trial.has_effects(1).await
}

async fn an_acceptance_is_replayed_after_the_end(trial: &Trial<'_>) -> CaseResult {
    let (request, accepted) = accepted(trial).await?;
    has_ended(trial, &accepted).await?;
    trial.replayed(&request, &accepted).await.map(drop)
}

async fn another_body_is_refused_while_the_command_is_pending(trial: &Trial<'_>) -> CaseResult {
    let (request, accepted) = accepted(trial).await?;
    trial.refused(&request.clone().with_body(trial.body("2")), |it| &it.reused).await?;
    trial.replayed(&request, &accepted).await?;
    trial.has_effects(1).await
}

async fn an_operation_of_another_tenant_is_unknown(trial: &Trial<'_>) -> CaseResult {
    let (_, accepted) = accepted(trial).await?;
    operation(trial, &accepted, Caller::Default).await?.expect_status(&[200])?;
    operation(trial, &accepted, Caller::OtherTenant).await?.expect_status(&[404])
}

/// Sends a command whose outcome is pending.
async fn accepted(trial: &Trial<'_>) -> CaseResult<(Request, Response)> {
    let (request, status) = trial.pending()?;
    let accepted = trial.executed_with(&request, &[status]).await?;
    Ok((request, accepted))
}

/// Reads the operation that an acceptance names.
async fn operation(trial: &Trial<'_>, accepted: &Response, caller: Caller) -> CaseResult<Response> {
    let read = trial.command().by(caller).without_header(KEY_HEADER).without_header("Content-Type");
    let location = accepted.header("Location").unwrap_or_default();
    trial.send_to_location(location, read.with_method("GET").with_body("")).await
}

async fn has_ended(trial: &Trial<'_>, accepted: &Response) -> CaseResult {
    let described = given(trial.target.command.operation.as_ref(), "the target has no [command.operation]")?;
    trial
        .until("the operation ends", async || {
            let response = operation(trial, accepted, Caller::Default).await?;
            let operation = response.json();
            let state = operation.pointer(&described.state).and_then(Value::as_str);
            let state =
                state.ok_or_else(|| CaseError::Failed(format!("no state in {}", response.summary())))?;
            Ok(described.ended.iter().any(|ended| ended == state).then_some(()))
        })
        .await
}
