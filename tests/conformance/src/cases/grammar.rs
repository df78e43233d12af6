//! The header: which values are a key, and which values are the same key.

use uuid::Uuid;

use super::{Case, DRAFT, IDEM, case};
use crate::case_error::{CaseResult, ensure, given};
use crate::http::{KEY_HEADER, Request};
use crate::target::Keys;
use crate::trial::{Trial, new_key_text};

pub(super) const CASES: &[Case] = &[
    case!(
        101,
        a_command_without_a_key_is_refused,
        DRAFT,
        "Without a key, the server cannot distinguish a retry from a new command."
    )
    .optional(),
    case!(102, an_empty_key_is_refused, DRAFT, "Otherwise all clients that lose their keys share one key."),
    case!(103, an_empty_string_is_refused, IDEM, "Otherwise all clients that send \"\" share one key.")
        .optional(),
    case!(
        104,
        two_header_lines_are_refused,
        DRAFT,
        "The header is one Item. Otherwise a proxy and the server may read different lines."
    ),
    case!(105, a_list_is_refused, DRAFT, "The header is one Item, not a List.").optional(),
    case!(106, a_byte_sequence_is_refused, DRAFT, "The Item must be a String.").optional(),
    case!(107, a_boolean_is_refused, DRAFT, "The Item must be a String.").optional(),
    case!(
        108,
        a_string_without_its_end_is_refused,
        DRAFT,
        "Otherwise a truncated header becomes another key."
    )
    .optional(),
    case!(
        109,
        a_key_with_text_beyond_ascii_is_refused,
        DRAFT,
        "A String has ASCII characters only. Clients encode other characters in different ways."
    ),
    case!(110, a_key_with_a_control_character_is_refused, DRAFT, "A String has no control characters."),
    case!(
        111,
        a_key_of_4000_bytes_is_refused,
        IDEM,
        "An index entry of a database is smaller. Otherwise the command fails late, with a 5xx."
    )
    .optional(),
    case!(
        112,
        a_short_key_is_refused,
        IDEM,
        "Two clients can choose the same short key, and an attacker can guess it."
    )
    .optional(),
    case!(
        113,
        a_key_of_another_form_is_refused,
        IDEM,
        "A server that documents UUIDs must refuse other keys."
    )
    .optional(),
    case!(
        114,
        a_quoted_and_a_bare_key_are_one_key,
        IDEM,
        "Two libraries of one client may send one key with and without quotes."
    )
    .optional(),
    case!(
        115,
        parameters_of_the_key_are_ignored,
        DRAFT,
        "An Item may have parameters, and the draft defines none."
    )
    .optional(),
    case!(116, the_name_of_the_header_has_any_case, "RFC 9110 §5.1", "Field names are case-insensitive."),
    case!(117, blanks_around_the_key_are_no_part_of_it, "RFC 9110 §5.5", "Proxies add and remove blanks."),
    case!(118, the_case_of_a_uuid_makes_no_difference, IDEM, "Libraries print UUIDs in either case.")
        .optional(),
    case!(
        119,
        a_key_on_a_command_that_takes_none_is_named_as_ignored,
        IDEM,
        "Otherwise the client relies on a key that has no effect."
    )
    .optional(),
    case!(
        120,
        the_nil_and_the_max_uuid_are_refused,
        IDEM,
        "A program whose variable was never set sends one of them with all its commands."
    )
    .optional(),
];

async fn a_command_without_a_key_is_refused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command().without_header(KEY_HEADER);
    trial.refused(&request, |it| &it.missing).await?;
    trial.has_effects(0).await
}

async fn an_empty_key_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key("")).await
}

async fn an_empty_string_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key("\"\"")).await
}

async fn two_header_lines_are_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_header(KEY_HEADER, trial.new_key())).await
}

async fn a_list_is_refused(trial: &Trial<'_>) -> CaseResult {
    let list = format!("\"{}\", \"{}\"", new_key_text(), new_key_text());
    is_refused(trial, &trial.command().with_key(list)).await
}

async fn a_byte_sequence_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key(":c2l4dGVlbiBieXRlcyBvciBtb3Jl:")).await
}

async fn a_boolean_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key("?1")).await
}

async fn a_string_without_its_end_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key(format!("\"{}", new_key_text()))).await
}

async fn a_key_with_text_beyond_ascii_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key(format!("\"{}é\"", new_key_text()))).await
}

async fn a_key_with_a_control_character_is_refused(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command().with_key(trial.key(&format!("{}\u{1}", new_key_text())));
    let response = trial.send_raw(&request).await?;
    response.expect_client_error()?;
    trial.has_effects(0).await
}

async fn a_key_of_4000_bytes_is_refused(trial: &Trial<'_>) -> CaseResult {
    let response = trial.send(&trial.command().with_key(format!("\"{}\"", "k".repeat(4000)))).await?;
    response.expect_client_error()?;
    trial.has_effects(0).await
}

async fn a_short_key_is_refused(trial: &Trial<'_>) -> CaseResult {
    is_refused(trial, &trial.command().with_key("\"1\"")).await
}

async fn a_key_of_another_form_is_refused(trial: &Trial<'_>) -> CaseResult {
    needs_uuids(trial)?;
    is_refused(trial, &trial.command().with_key("\"order-of-the-4th-of-may\"")).await
}

async fn a_quoted_and_a_bare_key_are_one_key(trial: &Trial<'_>) -> CaseResult {
    for [first, retry] in [["", "\""], ["\"", ""]] {
        let key = new_key_text();
        let request = trial.command().with_key(format!("{first}{key}{first}"));
        let response = trial.executed(&request).await?;
        trial.replayed(&request.with_key(format!("{retry}{key}{retry}")), &response).await?;
    }
    trial.has_effects(2).await
}

async fn parameters_of_the_key_are_ignored(trial: &Trial<'_>) -> CaseResult {
    let key = new_key_text();
    is_same(trial, &format!("\"{key}\""), &format!("\"{key}\";attempt=2")).await
}

async fn the_name_of_the_header_has_any_case(trial: &Trial<'_>) -> CaseResult {
    let request = trial.command();
    let first = trial.executed(&request).await?;
    let (_, key) = request.headers.iter().find(|(name, _)| name == KEY_HEADER).cloned().unwrap_or_default();
    let retry = request.without_header(KEY_HEADER).with_header("iDEMPOTENCY-kEY", key);
    trial.is_replay_of(&trial.send_raw(&retry).await?, &first)?;
    trial.has_effects(1).await
}

async fn blanks_around_the_key_are_no_part_of_it(trial: &Trial<'_>) -> CaseResult {
    let (request, key) = (trial.command(), trial.new_key());
    let first = trial.executed(&request.clone().with_key(&key)).await?;
    let retry = trial.send_raw(&request.with_key(format!(" \t{key}  "))).await?;
    trial.is_replay_of(&retry, &first)?;
    trial.has_effects(1).await
}

async fn the_case_of_a_uuid_makes_no_difference(trial: &Trial<'_>) -> CaseResult {
    needs_uuids(trial)?;
    let key = trial.new_key();
    is_same(trial, &key, &key.to_uppercase()).await
}

async fn the_nil_and_the_max_uuid_are_refused(trial: &Trial<'_>) -> CaseResult {
    needs_uuids(trial)?;
    for uuid in [Uuid::nil(), Uuid::max()] {
        is_refused(trial, &trial.command().with_key(uuid.to_string())).await?;
    }
    Ok(())
}

async fn a_key_on_a_command_that_takes_none_is_named_as_ignored(trial: &Trial<'_>) -> CaseResult {
    let (request, statuses) = trial.unkeyed()?;
    for _ in 0..2 {
        let response = trial.executed_with(&request, statuses).await?;
        let status = response.header("Idempotency-Status");
        ensure(status == Some("ignored"), || format!("Idempotency-Status is {status:?}, not ignored"))?;
    }
    Ok(())
}

fn needs_uuids(trial: &Trial<'_>) -> CaseResult {
    given((trial.target.keys == Keys::Uuid).then_some(()), "the target accepts any text as a key")
}

async fn is_refused(trial: &Trial<'_>, request: &Request) -> CaseResult {
    trial.refused(request, |it| &it.invalid).await?;
    trial.has_effects(0).await
}

/// Fails unless two spellings of a key get one response.
async fn is_same(trial: &Trial<'_>, first: &str, retry: &str) -> CaseResult {
    let request = trial.command();
    let response = trial.executed(&request.clone().with_key(first)).await?;
    trial.replayed(&request.with_key(retry), &response).await?;
    trial.has_effects(1).await
}
