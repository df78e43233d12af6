//! Keys that a client gives up.

use serde_json::Value;

use super::concurrency::at_once;
use super::{Case, IDEM, case};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{Request, Response};
use crate::target::{Caller, Fence};
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        1001,
        a_command_whose_key_was_fenced_is_never_executed,
        IDEM,
        "The client sends its command under a new key once the fence has told that nothing happened."
    ),
    case!(
        1002,
        a_fence_tells_a_command_that_was_executed_and_its_retry_is_replayed,
        IDEM,
        "The client gives up because it has no response. The command may have been executed."
    ),
    case!(1003, a_repeated_fence_tells_the_same, IDEM, "The response to a fence may be lost, too."),
    case!(
        1004,
        a_fence_belongs_to_its_tenant,
        IDEM,
        "Otherwise a customer stops the commands of another one."
    ),
    case!(
        1005,
        a_fence_beside_its_command_tells_what_the_command_did,
        IDEM,
        "The request that was given up may arrive at the same moment."
    ),
    case!(
        1006,
        a_fence_refuses_a_rejected_command_no_more_than_before,
        IDEM,
        "A stored rejection is what happened."
    ),
];

/// The rounds of case 1005.
const ROUNDS: usize = 30;

async fn a_command_whose_key_was_fenced_is_never_executed(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    ensure(!tells(trial, &fenced(trial, &request).await?)?, || "an unused key has a record".to_owned())?;
    for _ in 0..2 {
        trial.refused(&request, |it| &it.fenced).await?;
    }
    trial.refused(&request.with_body(trial.body("2")), |it| &it.fenced).await?;
    trial.has_effects(0).await
}

async fn a_fence_tells_a_command_that_was_executed_and_its_retry_is_replayed(
    trial: &Trial<'_>,
) -> CaseResult {
    described(trial)?;
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let is_told = tells(trial, &fenced(trial, &request).await?)?;
    ensure(is_told, || "the fence does not tell the command".to_owned())?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn a_repeated_fence_tells_the_same(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = fenced(trial, &request).await?;
    let second = fenced(trial, &request).await?;
    ensure(second.body == first.body, || format!("first {}, then {}", first.summary(), second.summary()))
}

async fn a_fence_belongs_to_its_tenant(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    fenced(trial, &request.clone().by(Caller::OtherTenant)).await?;
    trial.executed(&request).await?;
    let told = fenced(trial, &request.by(Caller::OtherTenant)).await?;
    ensure(!tells(trial, &told)?, || "the other tenant's fence tells the command".to_owned())
}

async fn a_fence_beside_its_command_tells_what_the_command_did(trial: &Trial<'_>) -> CaseResult {
    described(trial)?;
    let mut executed = 0;
    for _ in 0..ROUNDS {
        let request = trial.command();
        let requests = [request.clone(), fence(trial, &request)?];
        let mut ends = Vec::new();
        for (request, response) in requests.iter().zip(at_once(trial, &requests).await?) {
            // Whichever met the other one is sent again.
            let mut met = Some(response);
            let end = trial.until("the key is free", async || {
                let response = match met.take() {
                    Some(response) => response,
                    None => trial.send(request).await?,
                };
                Ok(Some(response).filter(|response| !trial.is_in_progress(response)))
            });
            ends.push(end.await?);
        }
        let [command, fence] = ends.as_slice() else { continue };
        fence.expect_status(&[200])?;
        let is_executed = command.status == trial.target.command.status;
        if !is_executed {
            trial.is_refusal(command, |it| &it.fenced)?;
        }
        ensure(tells(trial, fence)? == is_executed, || {
            format!("the command got {}, and its fence {}", command.summary(), fence.summary())
        })?;
        executed += usize::from(is_executed);
    }
    trial.has_effects(executed).await
}

async fn a_fence_refuses_a_rejected_command_no_more_than_before(trial: &Trial<'_>) -> CaseResult {
    described(trial)?;
    let (request, status) = trial.rejected()?;
    let first = trial.executed_with(&request, &[status]).await?;
    fenced(trial, &request).await?;
    trial.replayed(&request, &first).await.map(drop)
}

fn described<'t>(trial: &Trial<'t>) -> CaseResult<&'t Fence> {
    given(trial.target.fence.as_ref(), "the target has no [fence]")
}

/// The fence of this request's key.
fn fence(trial: &Trial<'_>, request: &Request) -> CaseResult<Request> {
    Ok(trial.fence(&described(trial)?.path, request))
}

async fn fenced(trial: &Trial<'_>, request: &Request) -> CaseResult<Response> {
    let response = trial.send(&fence(trial, request)?).await?;
    response.expect_status(&[200])?;
    Ok(response)
}

/// Whether the response to a fence names a command.
fn tells(trial: &Trial<'_>, response: &Response) -> CaseResult<bool> {
    let records = response.json().pointer(&described(trial)?.records).and_then(Value::as_array).cloned();
    let records =
        records.ok_or_else(|| CaseError::Failed(format!("the fence has no list: {}", response.summary())))?;
    Ok(!records.is_empty())
}
