//! Whose key it is.

use super::{Case, DRAFT, IDEM, case};
use crate::finding::{Verdict, ensure};
use crate::target::Principal;
use crate::trial::{Trial, new_key};

pub(super) const CASES: &[Case] = &[
    case!(
        501,
        a_key_of_another_tenant_is_another_key,
        "IETF draft-07, security",
        "Otherwise one customer reads the response of another."
    ),
    case!(
        502,
        another_tenant_cannot_tell_that_a_key_was_used,
        "IETF draft-07, security",
        "A refusal would already tell."
    ),
    case!(
        503,
        a_key_of_another_client_is_another_key,
        IDEM,
        "Two programs of a tenant choose keys on their own."
    )
    .optional(),
    case!(504, a_renewed_token_is_the_same_caller, DRAFT, "Tokens live shorter than retries."),
    case!(505, without_credentials_there_is_no_replay, "IETF draft-07, security", "A key is no credential."),
    case!(506, wrong_credentials_get_no_replay, "IETF draft-07, security", "A key is no credential."),
    case!(
        507,
        a_replay_needs_the_rights_of_the_command,
        IDEM,
        "Rights that were withdrawn are withdrawn for replays too."
    ),
    case!(
        508,
        the_key_of_another_route_is_another_key,
        IDEM,
        "One key for all steps of a workflow is common."
    )
    .optional(),
    case!(509, a_refused_caller_does_not_use_the_key, DRAFT, "Otherwise a stranger could use up keys."),
];

async fn a_key_of_another_tenant_is_another_key(trial: &Trial<'_>) -> Verdict {
    is_another_key(trial, Principal::OtherTenant).await?;
    trial.has_effects(1).await?;
    trial.has_effects_for(Principal::OtherTenant, 1).await
}

async fn another_tenant_cannot_tell_that_a_key_was_used(trial: &Trial<'_>) -> Verdict {
    let request = trial.command().by(Principal::OtherTenant);
    trial.prepare(Principal::OtherTenant, true).await?;
    trial.executed(&request).await?;
    trial.executed(&request.by(Principal::Caller).with_body(trial.body("2"))).await.map(drop)
}

async fn a_key_of_another_client_is_another_key(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let other = trial.executed(&request.by(Principal::OtherClient)).await?;
    ensure(other.body != first.body, || "both clients have one response".to_owned())?;
    trial.has_effects(2).await
}

async fn a_renewed_token_is_the_same_caller(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.replayed(&request.by(Principal::Renewed), &first).await?;
    trial.has_effects(1).await
}

async fn without_credentials_there_is_no_replay(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let response = trial.send(&request.by(None)).await?;
    ensure(response.status == 401 || response.status == 403, || {
        format!("expected 401, got {}", response.summary())
    })?;
    ensure(response.body != first.body, || "the response shows the stored body".to_owned())
}

async fn wrong_credentials_get_no_replay(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let request = request.by(None).with_header("Authorization", "Bearer not-a-token");
    let response = trial.send(&request).await?;
    ensure(response.status == 401 || response.status == 403, || {
        format!("expected 401, got {}", response.summary())
    })?;
    ensure(response.body != first.body, || "the response shows the stored body".to_owned())
}

async fn a_replay_needs_the_rights_of_the_command(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    trial.executed(&request).await?;
    let response = trial.send(&request.by(Principal::Unprivileged)).await?;
    ensure(response.status == 403, || format!("expected 403, got {}", response.summary()))
}

async fn the_key_of_another_route_is_another_key(trial: &Trial<'_>) -> Verdict {
    let (request, key) = (trial.command(), new_key());
    let request = request.with_key(&key);
    let first = trial.executed(&request).await?;
    let (change, statuses) = trial.follow_up(&first)?;
    trial.executed_with(&change.with_key(&key), statuses).await?;
    trial.replayed(&request, &first).await.map(drop)
}

async fn a_refused_caller_does_not_use_the_key(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let response = trial.send(&request.clone().by(None)).await?;
    ensure(response.status == 401 || response.status == 403, || {
        format!("expected 401, got {}", response.summary())
    })?;
    trial.executed(&request).await?;
    trial.has_effects(1).await
}

/// The same request of another caller is executed, and has a response of its own.
async fn is_another_key(trial: &Trial<'_>, other: Principal) -> Verdict {
    let request = trial.command();
    trial.prepare(other, true).await?;
    let first = trial.executed(&request).await?;
    let second = trial.executed(&request.by(other)).await?;
    ensure(second.body != first.body, || "both callers have one response".to_owned())
}
