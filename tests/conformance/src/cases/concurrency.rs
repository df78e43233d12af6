//! Requests at the same time.

use futures_util::TryStreamExt;
use futures_util::future::try_join_all;
use futures_util::stream::FuturesUnordered;

use super::{Case, DRAFT, IDEM, case};
use crate::finding::{Finding, Verdict, ensure, given};
use crate::http::{Connection, Request, Response};
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        401,
        fifty_copies_at_once_are_one_effect,
        DRAFT,
        "Clients with a short timeout send again while the first is in progress."
    ),
    case!(402, twenty_keys_at_once_are_twenty_effects, DRAFT, "One key must not hold up another."),
    case!(
        403,
        of_two_bodies_at_once_one_is_executed,
        DRAFT,
        "The check of the content must be part of the claim."
    ),
    case!(404, copies_at_two_instances_are_one_effect, DRAFT, "A lock in one process is none."),
    case!(
        405,
        a_duplicate_is_refused_while_the_first_is_in_progress,
        DRAFT,
        "A duplicate that waits holds a connection, and a thread or more."
    ),
    case!(
        406,
        the_refusal_of_a_duplicate_says_when_to_retry,
        IDEM,
        "Retry-After tells this 409 from a final one."
    )
    .optional(),
    case!(
        407,
        another_body_does_not_disturb_the_first_in_progress,
        DRAFT,
        "The first request keeps its key."
    ),
    case!(
        408,
        duplicates_in_progress_do_not_hold_up_other_keys,
        IDEM,
        "A storm of retries must not stop everybody else."
    ),
    case!(
        409,
        two_bodies_race_through_many_rounds,
        DRAFT,
        "A window of microseconds is found by many tries."
    ),
];

/// The rounds of case 409.
const ROUNDS: usize = 30;

async fn fifty_copies_at_once_are_one_effect(trial: &Trial<'_>) -> Verdict {
    let request = trial.command();
    let responses = at_once(trial, &vec![request.clone(); 50]).await?;
    one_is_executed(trial, &responses)?;
    later_retry(trial, &request).await?;
    trial.has_effects(1).await
}

async fn twenty_keys_at_once_are_twenty_effects(trial: &Trial<'_>) -> Verdict {
    let requests: Vec<Request> = (0..20).map(|_| trial.command()).collect();
    for response in try_join_all(requests.iter().map(|request| trial.send(request))).await? {
        ensure(response.status == trial.target.command.status, || {
            format!("a fresh key got {}", response.summary())
        })?;
    }
    trial.has_effects(20).await
}

async fn of_two_bodies_at_once_one_is_executed(trial: &Trial<'_>) -> Verdict {
    let first = trial.command();
    let second = first.clone().with_body(trial.body("2"));
    let requests = [vec![first; 25], vec![second; 25]].concat();
    let responses = at_once(trial, &requests).await?;
    one_is_executed(trial, &responses)
}

async fn copies_at_two_instances_are_one_effect(trial: &Trial<'_>) -> Verdict {
    given(trial.target.server(1), "the target has one instance only")?;
    let request = trial.command();
    let requests: Vec<Request> = (0..50).map(|number| request.clone().at(number % 2)).collect();
    let responses = at_once(trial, &requests).await?;
    one_is_executed(trial, &responses)?;
    later_retry(trial, &request).await?;
    trial.has_effects(1).await
}

async fn a_duplicate_is_refused_while_the_first_is_in_progress(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.slow("1")?;
    let [earlier, later] = side_by_side(trial, [&request, &request]).await?;
    ensure(trial.is_in_progress(&earlier), || format!("the duplicate got {}", earlier.summary()))?;
    ensure(later.status == status, || format!("the first request got {}", later.summary()))?;
    trial.replayed(&request, &later).await?;
    trial.has_effects(1).await
}

async fn the_refusal_of_a_duplicate_says_when_to_retry(trial: &Trial<'_>) -> Verdict {
    let (request, _) = trial.slow("1")?;
    let [duplicate, _] = side_by_side(trial, [&request, &request]).await?;
    let seconds = duplicate.header("Retry-After").and_then(|seconds| seconds.parse::<u32>().ok());
    ensure(seconds.is_some_and(|seconds| seconds >= 1), || {
        format!("{} has no Retry-After of a second or more", duplicate.summary())
    })
}

async fn another_body_does_not_disturb_the_first_in_progress(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.slow("1")?;
    let other = request.clone().with_body(trial.slow("2")?.0.body);
    let [earlier, later] = side_by_side(trial, [&request, &other]).await?;
    let is_refused = trial.is_in_progress(&earlier) || trial.is_reused(&earlier);
    ensure(is_refused, || format!("the other body got {}", earlier.summary()))?;
    ensure(later.status == status, || format!("the first request got {}", later.summary()))
}

async fn duplicates_in_progress_do_not_hold_up_other_keys(trial: &Trial<'_>) -> Verdict {
    let (request, status) = trial.slow("1")?;
    let mut copies: FuturesUnordered<_> = (0..100).map(|_| trial.send(&request)).collect();
    let mut responses = Vec::new();
    responses.extend(copies.try_next().await?);
    let fresh: Vec<Request> = (0..10).map(|_| trial.command()).collect();
    for response in try_join_all(fresh.iter().map(|request| trial.send(request))).await? {
        ensure(response.status == trial.target.command.status, || {
            format!("a fresh key got {}", response.summary())
        })?;
    }
    responses.extend(copies.try_collect::<Vec<Response>>().await?);
    let executed =
        responses.iter().filter(|response| response.status == status && !trial.is_replay(response));
    ensure(executed.count() == 1, || format!("none or several of {} copies were executed", responses.len()))?;
    trial.has_effects(11).await
}

async fn two_bodies_race_through_many_rounds(trial: &Trial<'_>) -> Verdict {
    let last = usize::from(trial.target.server(1).is_some());
    for _ in 0..ROUNDS {
        let first = trial.command();
        let second = first.clone().with_body(trial.body("2")).at(last);
        let responses = at_once(trial, &[first, second]).await?;
        one_is_executed(trial, &responses)?;
    }
    Ok(())
}

/// Sends all requests up to their last byte, then all last bytes.
async fn at_once(trial: &Trial<'_>, requests: &[Request]) -> Verdict<Vec<Response>> {
    let mut connections = try_join_all(requests.iter().map(|request| trial.connect(request))).await?;
    try_join_all(connections.iter_mut().map(|connection| connection.hold_back(1))).await?;
    try_join_all(connections.iter_mut().map(Connection::finish)).await?;
    try_join_all(connections.into_iter().map(Connection::response)).await
}

/// Fails unless one response is a first one, and the others are its replays or refusals.
fn one_is_executed(trial: &Trial<'_>, responses: &[Response]) -> Verdict {
    let status = trial.target.command.status;
    let Some(first) = responses.iter().find(|response| response.status == status) else {
        let statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
        return ensure(false, || format!("no request was executed: {statuses:?}"));
    };
    for response in responses {
        let is_its = response.status == status && response.body == first.body;
        let is_refused = trial.is_in_progress(response) || trial.is_reused(response);
        ensure(is_its || is_refused, || {
            format!("beside {}, another request got {}", first.summary(), response.summary())
        })?;
    }
    if trial.target.responses.replayed.is_some() {
        let executed = responses.iter().filter(|it| it.status == status && !trial.is_replay(it)).count();
        ensure(executed == 1, || format!("{executed} responses say that they are the first"))?;
    }
    Ok(())
}

/// After a race, the key has a response.
async fn later_retry(trial: &Trial<'_>, request: &Request) -> Verdict {
    let retry = trial.send(request).await?;
    let is_replay = trial.target.responses.replayed.is_none() || trial.is_replay(&retry);
    ensure(is_replay && retry.status == trial.target.command.status, || {
        format!("a later retry got {}", retry.summary())
    })
}

/// Sends two slow requests with one key at the same time; returns their responses in the order in which they come. One of
/// the two is the first, whichever arrives first.
async fn side_by_side(trial: &Trial<'_>, requests: [&Request; 2]) -> Verdict<[Response; 2]> {
    let mut in_progress: FuturesUnordered<_> =
        requests.into_iter().map(|request| trial.send(request)).collect();
    match (in_progress.try_next().await?, in_progress.try_next().await?) {
        (Some(earlier), Some(later)) => Ok([earlier, later]),
        _ => Err(Finding::Failed("a request has no response".to_owned())),
    }
}
