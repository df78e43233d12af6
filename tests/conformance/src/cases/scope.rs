//! The callers that share a key, and the callers that do not.

use super::fingerprint::is_other_at;
use super::{Case, IDEM, case};
use crate::case_error::{CaseResult, ensure};
use crate::target::Caller;
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        501,
        a_key_of_another_tenant_is_another_key,
        IDEM,
        "Otherwise one customer reads the response of another."
    ),
    case!(
        502,
        another_tenant_cannot_tell_that_a_key_was_used,
        IDEM,
        "A refusal would show a customer that another one has used the key."
    ),
    case!(
        503,
        a_key_of_another_client_is_another_key,
        IDEM,
        "Two programs of a tenant choose their keys independently."
    )
    .optional(),
    case!(504, a_renewed_token_is_the_same_caller, IDEM, "A token may expire between two attempts."),
    case!(505, without_credentials_there_is_no_replay, IDEM, "A key is not a credential."),
    case!(506, wrong_credentials_get_no_replay, IDEM, "A key is not a credential."),
    case!(
        507,
        a_replay_needs_the_rights_of_the_command,
        IDEM,
        "A caller without the right must not read the response either."
    ),
    case!(
        508,
        the_key_of_another_route_is_another_key,
        IDEM,
        "Many clients use one key for all steps of a workflow."
    )
    .optional(),
    case!(509, a_refused_caller_does_not_use_the_key, IDEM, "Otherwise a stranger could use up keys."),
];

/// The statuses of a request whose credentials are missing or wrong.
const UNAUTHENTICATED: &[u16] = &[401, 403];

async fn a_key_of_another_tenant_is_another_key(trial: &Trial<'_>) -> CaseResult {
    is_another_key(trial, Caller::OtherTenant).await?;
    trial.has_effects(1).await?;
    trial.has_effects_for(Caller::OtherTenant, 1).await
}

async fn another_tenant_cannot_tell_that_a_key_was_used(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    trial.prepare(Caller::OtherTenant, true).await?;
    trial.executed(&trial.command_by(request.clone(), Caller::OtherTenant)).await?;
    trial.executed(&request.with_body(trial.body("2"))).await.map(drop)
}

async fn a_key_of_another_client_is_another_key(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let other = trial.executed(&trial.command_by(request, Caller::OtherClient)).await?;
    ensure(other.body != first.body, || "both clients have one response".to_owned())?;
    trial.has_effects(2).await
}

async fn a_renewed_token_is_the_same_caller(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.replayed(&request.by(Caller::Renewed), &first).await?;
    trial.has_effects(1).await
}

async fn without_credentials_there_is_no_replay(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    trial.executed(&request).await?;
    trial.send(&request.by(None)).await?.expect_status(UNAUTHENTICATED)
}

async fn wrong_credentials_get_no_replay(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    trial.executed(&request).await?;
    let mut wrong = request.by(None);
    for (name, value) in trial.target.callers.get(&Caller::Default).into_iter().flatten() {
        // `Authorization` has a scheme before the credential.
        let scheme = value.rsplit_once(' ').map_or_else(String::new, |(scheme, _)| format!("{scheme} "));
        wrong = wrong.with_header(name, format!("{scheme}not-a-credential"));
    }
    trial.send(&wrong).await?.expect_status(UNAUTHENTICATED)
}

async fn a_replay_needs_the_rights_of_the_command(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    trial.executed(&request).await?;
    trial.send(&request.by(Caller::Unprivileged)).await?.expect_status(&[403])
}

async fn the_key_of_another_route_is_another_key(trial: &Trial<'_>) -> CaseResult {
    let command = &trial.target.command;
    if command.follow_up.is_none() {
        let path = |template: &str| trial.rendered(template.split('?').next().unwrap_or_default());
        let (own, effects) = (path(&command.path), path(&command.effects.path));
        let paths = [effects, format!("{own}/conformance")].map(|path| (command.method.as_str(), path));
        let methods = ["POST", "PUT", "PATCH"].map(|method| (method, own.clone()));
        let others = paths.into_iter().chain(methods);
        let others = others.filter(|(method, path)| *method != command.method || *path != own);
        return is_other_at(trial, others).await;
    }
    let (request, key) = (trial.command(), trial.new_key());
    let request = request.with_key(&key);
    let first = trial.executed(&request).await?;
    let (change, statuses) = trial.follow_up(&first)?;
    trial.executed_with(&change.with_key(&key), statuses).await?;
    trial.replayed(&request, &first).await.map(drop)
}

async fn a_refused_caller_does_not_use_the_key(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let response = trial.send(&request.clone().by(None)).await?;
    response.expect_status(UNAUTHENTICATED)?;
    trial.executed(&request).await?;
    trial.has_effects(1).await
}

/// Fails unless the same request of another caller is executed, and has a response of its own.
async fn is_another_key(trial: &Trial<'_>, other: Caller) -> CaseResult {
    let request = trial.command();
    trial.prepare(other, true).await?;
    let first = trial.executed(&request).await?;
    let second = trial.executed(&trial.command_by(request, other)).await?;
    ensure(second.body != first.body, || "both callers have one response".to_owned())
}
