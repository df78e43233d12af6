//! Requests at the same time.

use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::{join_all, try_join, try_join_all};
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::{Case, DRAFT, IDEM, case};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{Connection, Request, Response};
use crate::target::Caller;
use crate::trial::Trial;

pub(super) const CASES: &[Case] = &[
    case!(
        401,
        fifty_copies_at_once_are_one_effect,
        DRAFT,
        "A client with a short timeout retries while its first request is in progress."
    ),
    case!(
        402,
        twenty_keys_at_once_are_twenty_effects,
        DRAFT,
        "Different keys are different commands. None may be lost or refused."
    ),
    case!(
        403,
        of_two_bodies_at_once_one_is_executed,
        DRAFT,
        "The server must compare the content in the same step in which it claims the key."
    ),
    case!(
        404,
        copies_at_two_instances_are_one_effect,
        DRAFT,
        "A lock in the memory of one process does not stop the other process."
    ),
    case!(
        405,
        a_duplicate_is_refused_while_the_first_is_in_progress,
        DRAFT,
        "A duplicate that waits holds a connection, and often a thread."
    ),
    case!(
        406,
        the_refusal_of_a_duplicate_says_when_to_retry,
        IDEM,
        "Retry-After distinguishes this refusal from a final one."
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
        "One slow command must not delay the commands of other clients."
    ),
    case!(
        409,
        two_bodies_race_through_many_rounds,
        DRAFT,
        "Only repeated attempts find a race that is open for microseconds."
    ),
];

/// The rounds of case 409.
const ROUNDS: usize = 30;

/// A command that takes so much longer than two replays can be met in progress.
const VISIBLE: Duration = Duration::from_millis(5);

async fn fifty_copies_at_once_are_one_effect(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let requests = vec![request.clone(); 50];
    let responses = at_once(trial, &requests).await?;
    one_is_executed(trial, &requests, &responses)?;
    later_retry(trial, &request).await?;
    trial.has_effects(1).await
}

async fn twenty_keys_at_once_are_twenty_effects(trial: &Trial<'_>) -> CaseResult {
    let requests: Vec<Request> = (0..20).map(|_| trial.command()).collect();
    try_join_all(requests.iter().map(|request| trial.executed(request))).await?;
    trial.has_effects(20).await
}

async fn of_two_bodies_at_once_one_is_executed(trial: &Trial<'_>) -> CaseResult {
    let first = trial.command();
    let second = first.clone().with_body(trial.body("2"));
    let requests = [vec![first; 25], vec![second; 25]].concat();
    let responses = at_once(trial, &requests).await?;
    let number = number_of(one_is_executed(trial, &requests, &responses)?, &requests);
    trial.has_effects_of(Caller::Default, &[number]).await
}

async fn copies_at_two_instances_are_one_effect(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let requests: Vec<Request> = (0..50).map(|number| request.clone().at(number % 2)).collect();
    let responses = at_once(trial, &requests).await?;
    one_is_executed(trial, &requests, &responses)?;
    later_retry(trial, &request).await?;
    trial.has_effects(1).await
}

async fn a_duplicate_is_refused_while_the_first_is_in_progress(trial: &Trial<'_>) -> CaseResult {
    if trial.target.command.slow.is_none() {
        return one_of_many_copies_is_refused(trial).await;
    }
    let (request, status) = trial.slow("1")?;
    let [earlier, later] = side_by_side(trial, [&request, &request]).await?;
    ensure(trial.is_in_progress(&earlier), || format!("the duplicate got {}", earlier.summary()))?;
    ensure(later.status == status, || format!("the first request got {}", later.summary()))?;
    trial.replayed(&request, &later).await?;
    trial.has_effects(1).await
}

async fn the_refusal_of_a_duplicate_says_when_to_retry(trial: &Trial<'_>) -> CaseResult {
    let (request, _) = trial.slow("1")?;
    let [duplicate, _] = side_by_side(trial, [&request, &request]).await?;
    ensure(trial.is_in_progress(&duplicate), || format!("the duplicate got {}", duplicate.summary()))?;
    let seconds = duplicate.header("Retry-After").and_then(|seconds| seconds.parse::<u32>().ok());
    ensure(seconds.is_some_and(|seconds| seconds >= 1), || {
        format!("{} has no Retry-After of a second or more", duplicate.summary())
    })
}

async fn another_body_does_not_disturb_the_first_in_progress(trial: &Trial<'_>) -> CaseResult {
    let (request, status) = trial.slow("1")?;
    let other = request.clone().with_body(trial.slow("2")?.0.body);
    let [earlier, later] = side_by_side(trial, [&request, &other]).await?;
    let is_refused = trial.is_in_progress(&earlier) || trial.is_reused(&earlier);
    ensure(is_refused, || format!("the other body got {}", earlier.summary()))?;
    ensure(later.status == status, || format!("the first request got {}", later.summary()))?;
    trial.has_effects(1).await
}

async fn duplicates_in_progress_do_not_hold_up_other_keys(trial: &Trial<'_>) -> CaseResult {
    let (request, status) = trial.slow("1")?;
    let others: Vec<Request> = (0..10).map(|_| trial.command()).collect();
    let requests = vec![request; 100];
    let mut copies: FuturesUnordered<_> = requests[1..].iter().map(|copy| trial.send(copy)).collect();
    // The refusal of a copy shows that the first request is in progress.
    let refused = given(copies.try_next().await?, "there is no copy")?;
    ensure(trial.is_in_progress(&refused), || format!("the first response is {}", refused.summary()))?;
    let others = async {
        try_join_all(others.iter().map(|other| trial.executed(other))).await?;
        trial.send(&requests[0]).await
    };
    let (last, mut responses) = try_join(others, copies.try_collect::<Vec<_>>()).await?;
    // The refusal of the last copy shows that the other keys did not wait for the end of the first request.
    ensure(trial.is_in_progress(&last), || {
        format!("the other keys waited for the slow command: after them, a copy got {}", last.summary())
    })?;
    responses.extend([refused, last]);
    one_is_executed_with(status, trial, &requests, &responses)?;
    trial.has_effects(11).await
}

async fn two_bodies_race_through_many_rounds(trial: &Trial<'_>) -> CaseResult {
    let last = usize::from(trial.target.server(1).is_some());
    let mut numbers = Vec::new();
    for _ in 0..ROUNDS {
        let first = trial.command();
        let second = first.clone().with_body(trial.body("2")).at(last);
        let requests = [first, second];
        let responses = at_once(trial, &requests).await?;
        numbers.push(number_of(one_is_executed(trial, &requests, &responses)?, &requests));
    }
    trial.has_effects_of(Caller::Default, &numbers).await
}

/// Fails if no copy of the command is refused. Skips the case if copies cannot meet the command: because it is as fast as a replay,
/// or because the server executes one command at a time.
async fn one_of_many_copies_is_refused(trial: &Trial<'_>) -> CaseResult {
    let (mut execution, mut replay) = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        let request = trial.command();
        let start = Instant::now();
        let first = trial.send_raw(&request).await?;
        execution = execution.min(start.elapsed());
        first.expect_status(&[trial.target.command.status])?;
        let start = Instant::now();
        trial.is_replay_of(&trial.send_raw(&request).await?, &first)?;
        replay = replay.min(start.elapsed());
    }
    let mut ten = Duration::MAX;
    for _ in 0..3 {
        let others: Vec<Request> = (0..10).map(|_| trial.command()).collect();
        let start = Instant::now();
        at_once(trial, &others).await?;
        ten = ten.min(start.elapsed());
    }
    let is_seen = execution > 2 * replay + VISIBLE && ten < 5 * execution;
    given(is_seen.then_some(()), "the target has no [command.slow], and copies do not meet the command")?;
    for _ in 0..10 {
        let responses = at_once(trial, &vec![trial.command(); 10]).await?;
        if responses.iter().any(|response| trial.is_in_progress(response)) {
            return Ok(());
        }
    }
    Err(CaseError::Failed(format!(
        "in 10 rounds of 10 copies, all waited for the first one: {execution:.1?}"
    )))
}

/// Sends all requests up to their last byte, then all last bytes.
pub(super) async fn at_once(trial: &Trial<'_>, requests: &[Request]) -> CaseResult<Vec<Response>> {
    let mut connections = try_join_all(requests.iter().map(|request| trial.connect(request))).await?;
    join_all(connections.iter_mut().map(|connection| connection.hold_back(1))).await;
    join_all(connections.iter_mut().map(Connection::finish)).await;
    try_join_all(connections.into_iter().map(Connection::response)).await
}

/// The number in the body of a request: the first request of a race has 1, and a request with another body has 2.
fn number_of(request: &Request, requests: &[Request]) -> u64 {
    if request.body == requests[0].body { 1 } else { 2 }
}

fn one_is_executed<'r>(
    trial: &Trial<'_>,
    requests: &'r [Request],
    responses: &[Response],
) -> CaseResult<&'r Request> {
    one_is_executed_with(trial.target.command.status, trial, requests, responses)
}

/// Fails unless one request was executed with this status, its copies got its response or were refused as in progress, and
/// requests with another body were refused. Returns the executed request, or a copy of it.
fn one_is_executed_with<'r>(
    status: u16,
    trial: &Trial<'_>,
    requests: &'r [Request],
    responses: &[Response],
) -> CaseResult<&'r Request> {
    let both = || requests.iter().zip(responses);
    let executed = both().find(|(_, response)| response.status == status);
    let (executed, first) = executed.ok_or_else(|| {
        let statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
        CaseError::Failed(format!("no request was executed: {statuses:?}"))
    })?;
    for (request, response) in both() {
        let (is_copy, kind) =
            if request.body == executed.body { (true, "a copy") } else { (false, "another body") };
        let is_its = response.status == status && response.body == first.body;
        let is_right = if is_copy { is_its } else { trial.is_reused(response) };
        ensure(is_right || trial.is_in_progress(response), || {
            format!("beside {}, {kind} got {}", first.summary(), response.summary())
        })?;
    }
    if trial.target.responses.replayed.is_some() {
        let firsts = responses.iter().filter(|it| it.status == status && !trial.is_replay(it)).count();
        ensure(firsts == 1, || format!("{firsts} responses are not marked as replays"))?;
    }
    Ok(executed)
}

/// Fails unless a retry after a race gets the stored response.
async fn later_retry(trial: &Trial<'_>, request: &Request) -> CaseResult {
    let retry = trial.send(request).await?;
    let is_replay = trial.target.responses.replayed.is_none() || trial.is_replay(&retry);
    ensure(is_replay && retry.status == trial.target.command.status, || {
        format!("a later retry got {}", retry.summary())
    })
}

/// Sends two slow requests with one key at the same time. Returns their responses in the order in which they come. The request
/// that arrives first is the first request.
async fn side_by_side(trial: &Trial<'_>, requests: [&Request; 2]) -> CaseResult<[Response; 2]> {
    let mut in_progress: FuturesUnordered<_> =
        requests.into_iter().map(|request| trial.send(request)).collect();
    match (in_progress.try_next().await?, in_progress.try_next().await?) {
        (Some(earlier), Some(later)) => Ok([earlier, later]),
        _ => Err(CaseError::Failed("a request has no response".to_owned())),
    }
}
