//! Requests that are meant to do harm.

use futures_util::future::try_join_all;

use super::{Case, IDEM, case};
use crate::case_error::{CaseResult, ensure};
use crate::http::Request;
use crate::trial::{Trial, new_key_text};

pub(super) const CASES: &[Case] = &[
    case!(
        801,
        many_keys_do_not_push_out_an_old_one,
        IDEM,
        "A cache of limited size forgets keys, and then executes their retries."
    ),
    case!(802, deep_json_is_refused, "RFC 8259 §9", "The stack of a recursive parser overflows.").optional(),
    case!(
        803,
        a_huge_exponent_is_refused_at_once,
        IDEM,
        "Written out, a number of eleven bytes fills the memory."
    ),
    case!(
        804,
        half_a_character_is_refused,
        "RFC 8259 §8.2",
        "Parsers replace half of a surrogate pair, or drop it."
    )
    .optional(),
    case!(
        805,
        a_null_character_is_no_error_of_the_server,
        IDEM,
        "Databases refuse the character, often after the server has accepted the request."
    ),
    case!(
        806,
        a_body_that_is_announced_as_huge_is_refused,
        IDEM,
        "A server that reads the body first runs out of memory."
    ),
    case!(
        807,
        keys_are_opaque,
        IDEM,
        "A key is text. It must not act as SQL, a path, a template or a header."
    ),
    case!(808, bytes_that_are_no_text_are_refused, "RFC 8259 §8.1", "JSON is UTF-8."),
];

async fn many_keys_do_not_push_out_an_old_one(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    for _ in 0..5 {
        let others: Vec<Request> = (0..16).map(|_| trial.command()).collect();
        try_join_all(others.iter().map(|other| trial.executed(other))).await?;
    }
    trial.replayed(&request, &first).await.map(drop)
}

async fn deep_json_is_refused(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    is_refused(trial, format!("{{\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000))).await
}

async fn a_huge_exponent_is_refused_at_once(trial: &Trial<'_>) -> CaseResult {
    trial.needs_number()?;
    is_refused(trial, trial.body("1e999999999")).await
}

async fn half_a_character_is_refused(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    is_refused(trial, trial.body_with_text(|text| format!("{text}\\ud800"))).await
}

async fn a_null_character_is_no_error_of_the_server(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    let request = trial.command().with_body(trial.body_with_text(|text| format!("{text}\\u0000")));
    let response = trial.send(&request).await?;
    ensure(response.status < 500, || format!("expected 4xx, got {}", response.summary()))
}

async fn a_body_that_is_announced_as_huge_is_refused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let response = trial.send_raw(&request.clone().with_header("Content-Length", "10000000000")).await?;
    response.expect_client_error()?;
    trial.executed(&request).await?;
    trial.has_effects(1).await
}

async fn keys_are_opaque(trial: &Trial<'_>) -> CaseResult {
    let mut executed = 0;
    for text in [
        "'; DROP TABLE keys; --",
        "../../../etc/passwd-0",
        "%00%0d%0aSet-Cookie:x=1",
        "{{7*7}}${7*7}<x>-",
        "0",
    ] {
        let key = format!("\"{text}{}\"", &new_key_text()[..8]);
        let request = trial.command().with_key(key);
        let response = trial.send(&request).await?;
        ensure(response.header("Set-Cookie").is_none(), || format!("the key {text:?} became a header"))?;
        // A server that accepts the key must replay it.
        if response.status == trial.target.command.status {
            trial.replayed(&request, &response).await?;
            executed += 1;
        } else {
            response.expect_client_error()?;
        }
    }
    trial.has_effects(executed).await
}

async fn bytes_that_are_no_text_are_refused(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    let mut body = trial.body_with_text(|text| format!("{text}~")).into_bytes();
    for byte in body.iter_mut().filter(|byte| **byte == b'~') {
        *byte = 0xff;
    }
    is_refused(trial, body).await
}

/// Fails unless a body is refused with 4xx and without an effect, and the right body is then executed under its key.
async fn is_refused(trial: &Trial<'_>, body: impl Into<Vec<u8>>) -> CaseResult {
    let request = trial.command();
    let response = trial.send(&request.clone().with_body(body)).await?;
    response.expect_client_error()?;
    trial.has_effects(0).await?;
    trial.executed(&request).await?;
    trial.has_effects(1).await
}
