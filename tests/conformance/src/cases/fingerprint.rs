//! What counts as the same request.

use serde_json::{Map, Value};

use super::{Case, DRAFT, IDEM, case};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::http::{Request, Response};
use crate::trial::{FRESH, INVALID, Trial};

pub(super) const CASES: &[Case] = &[
    case!(
        301,
        another_body_is_refused_and_the_first_response_is_kept,
        DRAFT,
        "Otherwise a client believes that its second order was placed."
    ),
    case!(
        302,
        a_new_key_is_a_new_command,
        DRAFT,
        "The key identifies the command. A client may order the same thing twice."
    ),
    case!(
        303,
        order_of_members_and_white_space_make_no_difference,
        IDEM,
        "The maps of many languages have no order."
    )
    .optional(),
    case!(
        304,
        notations_of_a_number_make_no_difference,
        IDEM,
        "1, 1.0 and 1e0 are one number. Libraries print it in different ways."
    )
    .optional(),
    case!(
        305,
        numbers_are_compared_exactly,
        DRAFT,
        "As binary floating-point numbers, two different amounts can be equal."
    ),
    case!(
        306,
        a_repeated_member_is_refused,
        "RFC 8259 §4",
        "Some parsers take the first value, others the last."
    )
    .optional(),
    case!(307, escapes_make_no_difference, IDEM, "Libraries escape different characters.").optional(),
    case!(
        308,
        text_is_compared_without_normalisation,
        IDEM,
        "Two names that look the same can be the names of two accounts."
    )
    .optional(),
    case!(309, null_is_not_absent, IDEM, "A null may delete a value. An absent member leaves it unchanged.")
        .optional(),
    case!(310, another_query_is_refused, IDEM, "The query is part of the request.").optional(),
    case!(311, the_order_of_the_query_makes_no_difference, IDEM, "The maps of many languages have no order.")
        .optional(),
    case!(312, another_path_is_another_request, IDEM, "The path names the resource of the command.")
        .optional(),
    case!(313, chunks_make_no_difference, "RFC 9112 §7.1", "Proxies join and split chunks."),
    case!(
        314,
        a_difference_at_the_end_of_a_long_body_is_seen,
        DRAFT,
        "A fingerprint of the first bytes takes two commands for one."
    ),
    case!(315, a_number_is_not_its_text, DRAFT, "The type of a value is part of the content."),
    case!(316, a_parameter_of_the_media_type_makes_no_difference, IDEM, "Proxies add charset=utf-8.")
        .optional(),
    case!(
        317,
        another_body_is_refused_again_and_again,
        DRAFT,
        "The refusal must not replace the stored response of the key."
    ),
];

/// The length of a long body in bytes, if the target has no `command.body_limit`.
const LONG: usize = 16_384;

async fn another_body_is_refused_and_the_first_response_is_kept(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.refused(&request.clone().with_body(trial.body("2")), |it| &it.reused).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn a_new_key_is_a_new_command(trial: &Trial<'_>) -> CaseResult {
    trial.executed(&trial.command()).await?;
    trial.executed(&trial.command()).await?;
    trial.has_effects(2).await
}

async fn order_of_members_and_white_space_make_no_difference(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let members: Vec<String> = members(trial, &request)?
        .into_iter()
        .map(|(name, value)| format!("\n\t{} : {value}", Value::from(name)))
        .collect();
    given((members.len() > 1).then_some(()), "the body has one member only")?;
    let backwards: Vec<String> = members.iter().rev().cloned().collect();
    let first = trial.executed(&request).await?;
    // At least one of the two orders differs from the order of the request.
    for members in [members, backwards] {
        let body = format!("{{{}\r\n}}", members.join(" ,"));
        trial.replayed(&request.clone().with_body(body), &first).await?;
    }
    trial.has_effects(1).await
}

async fn notations_of_a_number_make_no_difference(trial: &Trial<'_>) -> CaseResult {
    trial.needs_number()?;
    let request = trial.command();
    let first = trial.executed(&request).await?;
    for number in ["1.0", "1e0", "10E-1"] {
        trial.replayed(&request.clone().with_body(trial.body(number)), &first).await?;
    }
    trial.has_effects(1).await
}

async fn numbers_are_compared_exactly(trial: &Trial<'_>) -> CaseResult {
    trial.needs_number()?;
    is_other(trial, &trial.command(), &trial.body("1.00000000000000000001")).await
}

async fn a_repeated_member_is_refused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let (name, value) = given(members(trial, &request)?.into_iter().next(), "the body has no member")?;
    let text = String::from_utf8_lossy(&request.body).into_owned();
    let repeated = text.replacen('{', &format!("{{{}:{value},", Value::from(name)), 1);
    let response = trial.send(&request.clone().with_body(repeated)).await?;
    response.expect_client_error()?;
    // The key is unused.
    trial.executed(&request).await?;
    trial.has_effects(1).await
}

async fn escapes_make_no_difference(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    let escaped = |text: &str| {
        let escapes: Vec<String> = text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        escapes.concat()
    };
    is_same(trial, &trial.command(), &trial.body_with_text(escaped)).await
}

async fn text_is_compared_without_normalisation(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    let composed = trial.body_with_text(|text| format!("{text}\u{e9}"));
    let request = trial.command().with_body(composed);
    let first = trial.executed(&request).await?;
    let decomposed = trial.body_with_text(|text| format!("{text}e\u{301}"));
    trial.refused(&request.clone().with_body(decomposed), |it| &it.reused).await?;
    trial.replayed(&request, &first).await.map(drop)
}

async fn null_is_not_absent(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    let request = trial.command();
    let text = String::from_utf8_lossy(&request.body).into_owned();
    is_other(trial, &request, &text.replacen('{', "{\"conformance\":null,", 1)).await?;
    // A server may refuse unknown members before it compares the content. It accepts its own optional members.
    let members = members(trial, &request)?;
    for name in members.keys() {
        let (mut absent, mut null) = (members.clone(), members.clone());
        absent.remove(name);
        null.insert(name.clone(), Value::Null);
        let [absent, null] = [absent, null].map(|body| Value::from(body).to_string());
        for (body, other) in [(&absent, &null), (&null, &absent)] {
            let request = trial.command().with_body(body.as_str());
            let first = trial.send(&request).await?;
            if first.status == trial.target.command.status {
                is_refused_beside(trial, &request, &first, other).await?;
            }
        }
    }
    Ok(())
}

async fn another_query_is_refused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    trial.refused(&request.clone().with_query("a=1"), |it| &it.reused).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn the_order_of_the_query_makes_no_difference(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.send(&request.clone().with_query("a=1&b=2")).await?;
    if first.status != trial.target.command.status {
        return Err(CaseError::Skipped("the command takes no query".to_owned()));
    }
    trial.replayed(&request.clone().with_query("b=2&a=1"), &first).await?;
    trial.has_effects(1).await
}

async fn another_path_is_another_request(trial: &Trial<'_>) -> CaseResult {
    if trial.target.command.follow_up.is_none() {
        let command = &trial.target.command;
        let paths = other_paths(&command.path).map(|path| (command.method.as_str(), trial.rendered(&path)));
        return is_other_at(trial, paths).await;
    }
    let firsts = [trial.executed(&trial.command()).await?, trial.executed(&trial.command()).await?];
    let (change, statuses) = trial.follow_up(&firsts[0])?;
    let (other, _) = trial.follow_up(&firsts[1])?;
    let differs = (change.path != other.path).then_some(());
    given(differs, "the path of the follow-up has no {id}")?;
    trial.executed_with(&change, statuses).await?;
    trial.refused(&change.with_path(other.path), |it| &it.reused).await.map(drop)
}

async fn chunks_make_no_difference(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let chunked = |request: Request| request.with_header("Transfer-Encoding", "chunked");
    trial.is_replay_of(&trial.send_raw(&chunked(request.clone())).await?, &first)?;
    let other = trial.send_raw(&chunked(request.with_body(trial.body("2")))).await?;
    trial.is_refusal(&other, |it| &it.reused)?;
    trial.has_effects(1).await
}

async fn a_difference_at_the_end_of_a_long_body_is_seen(trial: &Trial<'_>) -> CaseResult {
    trial.needs_json()?;
    // White space does not change the meaning. It moves the difference to the end of the largest body.
    let length = trial.target.command.body_limit.unwrap_or(LONG).saturating_sub(trial.body("1").len());
    let long = |number: &str| trial.body(number).replacen('{', &format!("{{{}", " ".repeat(length)), 1);
    let request = trial.command().with_body(long("1"));
    let first = trial.executed(&request).await?;
    trial.refused(&request.clone().with_body(long("2")), |it| &it.reused).await?;
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

async fn a_number_is_not_its_text(trial: &Trial<'_>) -> CaseResult {
    trial.needs_number()?;
    is_other(trial, &trial.command(), &trial.body("\"1\"")).await
}

async fn a_parameter_of_the_media_type_makes_no_difference(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let with_charset = format!("{}; charset=utf-8", trial.target.command.content_type);
    trial.replayed(&request.with_only_header("Content-Type", with_charset), &first).await?;
    trial.has_effects(1).await
}

async fn another_body_is_refused_again_and_again(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    for number in 2..22 {
        let other = request.clone().with_body(trial.body(&number.to_string()));
        trial.refused(&other, |it| &it.reused).await?;
    }
    trial.replayed(&request, &first).await?;
    trial.has_effects(1).await
}

/// Fails unless a body of another spelling gets the first response.
async fn is_same(trial: &Trial<'_>, request: &Request, body: &str) -> CaseResult {
    let first = trial.executed(request).await?;
    trial.replayed(&request.clone().with_body(body), &first).await?;
    trial.has_effects(1).await
}

/// Fails unless a body of another meaning is refused: as a reused key, or because it is not valid.
async fn is_other(trial: &Trial<'_>, request: &Request, body: &str) -> CaseResult {
    let first = trial.executed(request).await?;
    is_refused_beside(trial, request, &first, body).await?;
    trial.has_effects(1).await
}

async fn is_refused_beside(trial: &Trial<'_>, request: &Request, first: &Response, body: &str) -> CaseResult {
    let response = trial.send(&request.clone().with_body(body)).await?;
    let is_refused = trial.is_reused(&response) || INVALID.contains(&response.status);
    ensure(is_refused, || format!("expected the refusal of a reused key, got {}", response.summary()))?;
    trial.replayed(request, first).await.map(drop)
}

/// Fails if the key and the body of the command get its response with another method or path. A refusal is right, and so is an
/// execution.
pub(super) async fn is_other_at(
    trial: &Trial<'_>,
    places: impl IntoIterator<Item = (&str, String)>,
) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let second = trial.executed(&trial.command()).await?;
    given((second.body != first.body).then_some(()), "every execution has the same response")?;
    let mut takes_key = false;
    for (method, path) in places {
        let response = trial.send(&request.clone().with_method(method).with_path(&path)).await?;
        ensure(response.body != first.body, || {
            format!("{method} {path} got the response of the command, {}", response.summary())
        })?;
        takes_key |= trial.is_reused(&response) || response.status == trial.target.command.status;
    }
    trial.replayed(&request, &first).await?;
    given(takes_key.then_some(()), "the target has no [command.follow_up], and no other path takes the key")
}

/// Other paths: for each id, one that has another id in its place, and one that has one more segment.
fn other_paths(path: &str) -> impl Iterator<Item = String> {
    let path = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let others = (0..segments.len()).filter_map(move |at| {
        let mut others = segments.clone();
        let other = other_id(others[at])?;
        others[at] = &other;
        Some(others.join("/"))
    });
    others.chain([format!("{path}/conformance")])
}

/// Another id, if the segment of a path has a variable or a digit.
fn other_id(segment: &str) -> Option<String> {
    if segment.contains(FRESH) {
        return Some(segment.to_owned());
    }
    if segment.contains('{') {
        return Some(format!("{segment}X"));
    }
    let at = segment.rfind(|character: char| character.is_ascii_digit())?;
    let digit = if segment[at..].starts_with('1') { "2" } else { "1" };
    Some(format!("{}{digit}{}", &segment[..at], &segment[at + 1..]))
}

fn members(trial: &Trial<'_>, request: &Request) -> CaseResult<Map<String, Value>> {
    trial.needs_json()?;
    serde_json::from_slice(&request.body)
        .map_err(|error| CaseError::Failed(format!("command.body of the target is no JSON object: {error}")))
}
