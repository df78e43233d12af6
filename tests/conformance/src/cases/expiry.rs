//! Keys that have expired.

use tokio::time::Instant;

use super::{ACP, Case, DRAFT, IDEM, case};
use crate::case_error::{CaseResult, ensure, given};
use crate::http::{Request, Response};
use crate::target::AfterExpiry;
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        701,
        a_key_is_replayed_until_it_expires,
        DRAFT,
        "The server publishes how long it keeps a response."
    ),
    case!(
        702,
        an_expired_key_is_not_executed_again,
        IDEM,
        "A retry that was delayed for a day is still a retry."
    )
    .optional(),
    case!(
        703,
        an_expired_key_is_refused_for_another_body_as_well,
        IDEM,
        "The server has erased the content. It still knows the key."
    )
    .optional(),
    case!(704, the_refusal_of_an_expired_key_is_final, IDEM, "No retry can succeed.").optional(),
    case!(
        705,
        an_expired_key_is_a_new_request,
        ACP,
        "Its clients may use a key again after the time that the server publishes."
    ),
];

async fn a_key_is_replayed_until_it_expires(trial: &Trial<'_>) -> CaseResult {
    let begun = Instant::now();
    let (request, first) = executed(trial).await?;
    trial.replayed(&request, &first).await?;
    let response = expired(trial, &request, &first).await?;
    let (age, life) = (begun.elapsed(), trial.target.key_life().unwrap_or_default());
    ensure(age >= life, || format!("after {age:.1?}, the retry got {}", response.summary()))
}

async fn an_expired_key_is_a_new_request(trial: &Trial<'_>) -> CaseResult {
    let is_new = trial.target.after_expiry == AfterExpiry::NewRequest;
    given(is_new.then_some(()), "the target refuses expired keys: after_expiry is not new_request")?;
    let (request, first) = executed(trial).await?;
    let response = expired(trial, &request, &first).await?;
    response.expect_status(&[trial.target.command.status])?;
    ensure(!trial.is_replay(&response), || "the new response is marked as a replay".to_owned())?;
    trial.replayed(&request, &response).await?;
    trial.has_effects(2).await
}

async fn an_expired_key_is_not_executed_again(trial: &Trial<'_>) -> CaseResult {
    refuses(trial)?;
    let (request, first) = executed(trial).await?;
    let response = expired(trial, &request, &first).await?;
    trial.is_refusal(&response, |it| &it.expired)?;
    trial.has_effects(1).await
}

async fn an_expired_key_is_refused_for_another_body_as_well(trial: &Trial<'_>) -> CaseResult {
    refuses(trial)?;
    let (request, first) = executed(trial).await?;
    expired(trial, &request, &first).await?;
    // Either refusal is right: the server may have kept the content, or only the key.
    let response = trial.send(&request.with_body(trial.body("2"))).await?;
    let is_refused = trial.is_reused(&response) || trial.is_refusal(&response, |it| &it.expired).is_ok();
    ensure(is_refused, || format!("expected a refusal, got {}", response.summary()))?;
    trial.has_effects(1).await
}

async fn the_refusal_of_an_expired_key_is_final(trial: &Trial<'_>) -> CaseResult {
    refuses(trial)?;
    let (request, first) = executed(trial).await?;
    let response = expired(trial, &request, &first).await?;
    trial.is_refusal(&response, |it| &it.expired)?;
    ensure(response.header("Retry-After").is_none(), || "the refusal has a Retry-After".to_owned())
}

fn refuses(trial: &Trial<'_>) -> CaseResult {
    let refuses = trial.target.after_expiry == AfterExpiry::Refused;
    given(refuses.then_some(()), "an expired key is a new request to the target")
}

async fn executed(trial: &Trial<'_>) -> CaseResult<(Request, Response)> {
    given(trial.target.key_life(), "the target has no expires_after_seconds")?;
    let request = trial.command();
    let first = trial.executed(&request).await?;
    Ok((request, first))
}

/// Retries until the response differs from the first one.
async fn expired(trial: &Trial<'_>, request: &Request, first: &Response) -> CaseResult<Response> {
    trial
        .until("the key expires", async || {
            let response = trial.send(request).await?;
            Ok((response.body != first.body).then_some(response))
        })
        .await
}
