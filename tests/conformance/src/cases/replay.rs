//! The response to a retry.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::select;
use reqwest::header::HeaderName;
use serde_json::Value;
use tokio::time::Instant;

use super::{ACP, Case, DRAFT, IDEM, STRIPE, case};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{KEY_HEADER, Request, Response};
use crate::trial::{Trial, new_key_text};

pub(super) const CASES: &[Case] = &[
    case!(
        201,
        a_retry_gets_the_status_and_the_bytes_of_the_first_response,
        DRAFT,
        "The client reads whichever response arrives. Both must say the same."
    ),
    case!(
        202,
        a_retry_gets_the_headers_of_the_first_response,
        DRAFT,
        "A client that lost the first response needs its Location."
    ),
    case!(
        203,
        a_replay_is_marked,
        STRIPE,
        "The mark shows the client, and its log, that this request executed nothing."
    )
    .optional(),
    case!(204, ten_retries_are_one_effect, DRAFT, "A client retries until it has a response."),
    case!(205, another_instance_replays, IDEM, "A load balancer may send the retry to any instance."),
    case!(206, a_restart_forgets_nothing, IDEM, "A restart cuts responses off, and clients then retry."),
    case!(
        207,
        a_retry_after_a_change_gets_the_first_response,
        DRAFT,
        "The replay is the response to the first request. It does not show the present state."
    ),
    case!(
        208,
        a_replay_has_a_date_of_its_own_and_no_cookie,
        "RFC 9110 §6.6.1",
        "Date is the time at which this message was made. A stored cookie would replace a newer one."
    ),
    case!(
        209,
        a_client_that_left_before_the_response_gets_it_later,
        IDEM,
        "A client retries because the first response did not arrive."
    ),
    case!(
        210,
        a_body_that_breaks_off_has_no_effect,
        "RFC 9112 §8",
        "The client did not send the whole command."
    ),
    case!(211, a_retry_may_accept_something_else, IDEM, "Libraries change Accept between attempts.")
        .optional(),
    case!(
        212,
        headers_of_the_connection_make_no_difference,
        DRAFT,
        "Trace ids and agents differ in each attempt."
    ),
    case!(213, a_replay_names_the_time_of_the_execution, IDEM, "The client can see how old the response is.")
        .optional(),
    case!(
        214,
        no_cache_keeps_the_response,
        "RFC 9111 §5.2.2.5",
        "no-store forbids caches to keep the response. It belongs to one client."
    )
    .optional(),
    case!(
        216,
        a_response_names_the_key_of_its_request,
        ACP,
        "A client that sends many requests finds its command by the key."
    ),
];

/// The rounds of case 209, eight for each way to leave.
const ROUNDS: usize = 24;

/// How long case 207 retries. A resource may change by itself in this time.
const LATER: Duration = Duration::from_secs(3);

/// Headers of one message, which the message of a replay may lack.
const OF_THE_MESSAGE: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "date",
    "keep-alive",
    "request-id",
    "server-timing",
    "set-cookie",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "vary",
    "via",
    "x-correlation-id",
    "x-request-id",
];

async fn a_retry_gets_the_status_and_the_bytes_of_the_first_response(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let retry = trial.send(&request).await?;
    is_equal(&retry, &first)?;
    trial.has_effects(1).await
}

async fn a_retry_gets_the_headers_of_the_first_response(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let retry = trial.send(&request).await?;
    for name in &trial.target.responses.repeated {
        let (first, retry) = (first.header(name), retry.header(name));
        ensure(first == retry, || format!("{name} was {first:?}, and is {retry:?} in the replay"))?;
    }
    // Other headers may have another value, such as the number of requests that are left.
    let is_lost = |name: &&HeaderName| {
        !retry.headers.contains_key(*name)
            && !OF_THE_MESSAGE.contains(&name.as_str())
            && !name.as_str().replace('-', "").contains("ratelimit")
    };
    let lost: Vec<&HeaderName> = first.headers.keys().filter(is_lost).collect();
    ensure(lost.is_empty(), || format!("the replay lacks {lost:?}"))
}

async fn a_replay_is_marked(trial: &Trial<'_>) -> CaseResult {
    let marker = trial.target.responses.replayed.as_ref();
    given(marker, "the target has no responses.replayed")?;
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.replayed(&request, &first).await.map(drop)
}

async fn ten_retries_are_one_effect(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    for _ in 0..10 {
        trial.replayed(&request, &first).await?;
    }
    trial.has_effects(1).await
}

async fn another_instance_replays(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.replayed(&request.at(1), &first).await?;
    trial.has_effects(1).await
}

async fn a_restart_forgets_nothing(trial: &Trial<'_>) -> CaseResult {
    let restart = trial.target.restart.split_first();
    let (program, arguments) = given(restart, "the target has no `restart`")?;
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let output = tokio::process::Command::new(program).args(arguments).output().await;
    let output = output.map_err(|error| CaseError::Failed(format!("{program} cannot run: {error}")))?;
    ensure(output.status.success(), || format!("{program}: {}", String::from_utf8_lossy(&output.stderr)))?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn a_retry_after_a_change_gets_the_first_response(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let mut is_changed = trial.target.command.follow_up.is_some();
    if is_changed {
        let (change, statuses) = trial.follow_up(&first)?;
        trial.executed_with(&change, statuses).await?;
    } else {
        // Another command may change the resource, and so may the methods of HTTP.
        trial.send(&trial.command().with_body(trial.body("2"))).await?;
        for (method, body) in
            [("PATCH", trial.body("2")), ("PUT", trial.body("2")), ("DELETE", String::new())]
        {
            let change = trial.command().with_method(method).with_body(body);
            is_changed |= send_to_resource(trial, &first, change).await?.status / 100 == 2;
        }
    }
    let begun = Instant::now();
    let later = trial.until("the time of the retries ends", async || {
        trial.replayed(&request, &first).await?;
        Ok((begun.elapsed() > LATER).then_some(()))
    });
    later.await?;
    given(
        is_changed.then_some(()),
        "the target has no [command.follow_up], and no method changes the resource",
    )
}

async fn a_replay_has_a_date_of_its_own_and_no_cookie(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial
        .until("a replay has another Date", async || {
            let retry = trial.replayed(&request, &first).await?;
            ensure(retry.header("Set-Cookie").is_none(), || "the replay sets a cookie".to_owned())?;
            // Date counts seconds, so the Date of a later replay differs. A server without a clock sends none.
            let (first, retry) = (first.header("Date"), retry.header("Date"));
            Ok((first.is_none() || retry != first).then_some(()))
        })
        .await
}

async fn a_client_that_left_before_the_response_gets_it_later(trial: &Trial<'_>) -> CaseResult {
    for round in 0..ROUNDS {
        let request = trial.command();
        leave(trial, &request, round).await?;
        let found = trial.until("the request of the client that left ends", async || {
            let retry = trial.send(&request).await?;
            Ok((!trial.is_in_progress(&retry)).then_some(retry))
        });
        let found = found.await?;
        ensure(found.status == trial.target.command.status, || format!("the retry got {}", found.summary()))?;
        trial.replayed(&request, &found).await?;
        trial.has_effects(round + 1).await?;
    }
    Ok(())
}

/// Sends a request, and closes the connection, or resets it, or resets it when the effect or the response is there.
async fn leave(trial: &Trial<'_>, request: &Request, round: usize) -> CaseResult {
    let (mut connection, way) = (trial.connect(request).await?, round % 3);
    if way > 0 {
        connection.reset_on_drop()?;
    }
    connection.finish().await;
    if way == 2 {
        let effect = async { while trial.has_effects(round).await.is_ok() {} };
        select(pin!(connection.response()), pin!(effect)).await;
    }
    Ok(())
}

async fn a_body_that_breaks_off_has_no_effect(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    // The closing bytes are blanks, so that the body is complete JSON, or a complete form, without them.
    let padded = [&request.body[..], b"    "].concat();
    let mut connection = trial.connect(&request.clone().with_body(padded)).await?;
    connection.hold_back(4).await;
    connection.break_off().await;
    trial.has_effects(0).await?;
    let first = trial.executed(&request).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn a_retry_may_accept_something_else(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.replayed(&request.with_header("Accept", "text/html, */*;q=0.1"), &first).await.map(drop)
}

async fn headers_of_the_connection_make_no_difference(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let retry = request
        .with_header("User-Agent", "another-agent/2.0")
        .with_header("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        .with_header("X-Request-Id", new_key_text());
    trial.replayed(&retry, &first).await?;
    trial.has_effects(1).await
}

async fn a_replay_names_the_time_of_the_execution(trial: &Trial<'_>) -> CaseResult {
    const DATE: &str = "Idempotency-Original-Date";
    let request = trial.command();
    let first = trial.executed(&request).await?;
    ensure(first.header(DATE).is_none(), || format!("the first response has {DATE}"))?;
    let times = [trial.replayed(&request, &first).await?, trial.replayed(&request, &first).await?];
    ensure(times[0].header(DATE).is_some(), || format!("the replay has no {DATE}"))?;
    ensure(times[0].header(DATE) == times[1].header(DATE), || format!("{DATE} differs in two replays"))
}

async fn no_cache_keeps_the_response(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    for response in [&first, &trial.replayed(&request, &first).await?] {
        let cache = response.header("Cache-Control").unwrap_or_default();
        ensure(cache.contains("no-store"), || format!("Cache-Control is {cache:?}, not no-store"))?;
    }
    Ok(())
}

/// Sends a request to the resource of a response, which has a `Location` or an id.
async fn send_to_resource(trial: &Trial<'_>, response: &Response, request: Request) -> CaseResult<Response> {
    let id = match &response.json()["id"] {
        Value::String(id) => id.clone(),
        id => id.to_string(),
    };
    let server = trial.target.server(0).unwrap_or_default();
    let below = format!("{server}{}/{id}", request.path);
    trial.send_to_location(response.header("Location").unwrap_or(&below), request).await
}

fn is_equal(retry: &Response, first: &Response) -> CaseResult {
    ensure(retry.status == first.status, || {
        format!("the status was {}, and is {}", first.status, retry.status)
    })?;
    ensure(retry.body == first.body, || {
        format!("the body differs: {} and {}", first.summary(), retry.summary())
    })
}

async fn a_response_names_the_key_of_its_request(trial: &Trial<'_>) -> CaseResult {
    given(trial.target.responses.names_key.then_some(()), "the target has no responses.names_key")?;
    let request = trial.command().with_key(trial.new_key());
    let key = request.headers.iter().find(|(name, _)| name == KEY_HEADER).map(|(_, value)| value.clone());
    let first = trial.executed(&request).await?;
    let again = trial.replayed(&request, &first).await?;
    let refused = trial.refused(&request.with_body(trial.body("2")), |it| &it.reused).await?;
    for response in [first, again, refused] {
        let named = response.header(KEY_HEADER).map(|key| key.as_bytes().to_vec());
        ensure(named == key, || format!("{} names the key {named:?}", response.summary()))?;
    }
    Ok(())
}
