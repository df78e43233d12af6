//! One table row for each kind of response. Compare it with the documentation of the processor's protocol.

use std::time::Duration;

use contracts::{Currency, Money};
use serde_json::{Value, json};

use super::classify::{classify_found, read_page};
use super::{Movement, Page, ProcessorResponse, classify};
use crate::domain::{AttemptOutcome, Fee, LookupResult, ProcessorReference, UnknownReason};

const CHARGE: Movement = Movement::Charge(Money::new(1999, Currency::Eur));
const REFUND: Movement = Movement::Refund(Money::new(1999, Currency::Eur));

fn reply(status: u16, body: &Value) -> ProcessorResponse {
    ProcessorResponse::Received {
        status,
        replayed: false,
        retry_after: None,
        body: body.to_string().into_bytes(),
    }
}

fn replayed(status: u16, body: &Value) -> ProcessorResponse {
    ProcessorResponse::Received {
        status,
        replayed: true,
        retry_after: None,
        body: body.to_string().into_bytes(),
    }
}

fn intent(status: &str) -> Value {
    json!({
        "id": "pi_1", "object": "payment_intent", "amount": 1999, "amount_received": 1999, "currency": "eur",
        "status": status, "latest_charge": "ch_1", "last_payment_error": null,
    })
}

fn refund(status: &str) -> Value {
    json!({
        "id": "re_1", "object": "refund", "amount": 1999, "currency": "eur", "status": status, "charge": "ch_1",
    })
}

fn with(mut object: Value, member: &str, value: Value) -> Value {
    object[member] = value;
    object
}

fn error(kind: &str, code: &str) -> Value {
    json!({ "error": { "type": kind, "code": code, "message": "…" } })
}

fn declined(code: &str) -> AttemptOutcome {
    AttemptOutcome::Declined { code: code.to_owned() }
}

fn rejected(code: &str, replayed: bool) -> AttemptOutcome {
    AttemptOutcome::Rejected { code: code.to_owned(), replayed }
}

fn done(id: &str) -> AttemptOutcome {
    AttemptOutcome::Succeeded(ProcessorReference {
        id: id.to_owned(),
        charge: Some("ch_1".to_owned()),
        fee: None,
    })
}

fn check(movement: Movement, table: Vec<(ProcessorResponse, AttemptOutcome)>) {
    for (response, outcome) in table {
        assert_eq!(classify(movement, &response), outcome, "{response:?}");
    }
}

#[test]
fn the_status_of_an_intent_is_classified() {
    let wrong = |member, value| reply(200, &with(intent("succeeded"), member, value));
    let waiting = json!({ "type": "card_error", "code": "card_declined", "decline_code": "stolen_card" });
    check(
        CHARGE,
        vec![
            (reply(200, &intent("succeeded")), done("pi_1")),
            (replayed(200, &intent("succeeded")), done("pi_1")),
            (wrong("latest_charge", json!({ "id": "ch_1", "object": "charge" })), done("pi_1")),
            (wrong("currency", json!("EUR")), done("pi_1")),
            (wrong("amount", json!(1998)), AttemptOutcome::Unknown(UnknownReason::AmountMismatch)),
            (wrong("amount_received", json!(0)), AttemptOutcome::Unknown(UnknownReason::AmountMismatch)),
            (wrong("currency", json!("usd")), AttemptOutcome::Unknown(UnknownReason::AmountMismatch)),
            (
                reply(200, &intent("processing")),
                AttemptOutcome::Processing { object: Some("pi_1".to_owned()) },
            ),
            (
                reply(200, &intent("requires_action")),
                AttemptOutcome::RequiresAction { payment_intent: "pi_1".to_owned() },
            ),
            (
                reply(200, &intent("requires_payment_method")),
                AttemptOutcome::RequiresAction { payment_intent: "pi_1".to_owned() },
            ),
            (
                reply(200, &with(intent("requires_payment_method"), "last_payment_error", waiting)),
                declined("stolen_card"),
            ),
            (reply(200, &intent("canceled")), declined("canceled")),
            (
                reply(200, &intent("requires_confirmation")),
                AttemptOutcome::RequiresAction { payment_intent: "pi_1".to_owned() },
            ),
            (
                reply(200, &intent("requires_capture")),
                AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 }),
            ),
            (
                reply(200, &refund("succeeded")),
                AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 }),
            ),
        ],
    );
}

#[test]
fn the_status_of_a_refund_is_classified() {
    let lost = with(refund("failed"), "failure_reason", json!("lost_or_stolen_card"));
    check(
        REFUND,
        vec![
            (reply(200, &refund("succeeded")), done("re_1")),
            (reply(200, &refund("pending")), AttemptOutcome::Processing { object: Some("re_1".to_owned()) }),
            (reply(200, &lost), declined("lost_or_stolen_card")),
            (reply(200, &refund("canceled")), declined("canceled")),
            (
                reply(200, &with(refund("succeeded"), "amount", json!(1))),
                AttemptOutcome::Unknown(UnknownReason::AmountMismatch),
            ),
            (
                reply(200, &intent("succeeded")),
                AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 }),
            ),
            (
                reply(400, &error("invalid_request_error", "charge_already_refunded")),
                rejected("charge_already_refunded", false),
            ),
        ],
    );
}

#[test]
fn a_rejection_is_distinguished_from_a_failure() {
    let decline = json!({
        "error": { "type": "card_error", "code": "card_declined", "decline_code": "generic_decline", "message": "…" },
    });
    let form = error("invalid_request_error", "parameter_missing");
    let seconds = |s| Some(Duration::from_secs(s));
    let limited = ProcessorResponse::Received {
        status: 429,
        replayed: false,
        retry_after: seconds(7),
        body: Vec::new(),
    };
    check(
        CHARGE,
        vec![
            (reply(402, &decline), declined("generic_decline")),
            (replayed(402, &decline), declined("generic_decline")),
            (reply(402, &error("card_error", "expired_card")), declined("expired_card")),
            (reply(402, &json!({ "error": { "type": "api_error" } })), declined("api_error")),
            (reply(400, &form), rejected("parameter_missing", false)),
            (replayed(400, &form), rejected("parameter_missing", true)),
            (
                reply(404, &error("invalid_request_error", "resource_missing")),
                rejected("resource_missing", false),
            ),
            (
                reply(400, &error("idempotency_error", "mismatch")),
                AttemptOutcome::Unknown(UnknownReason::KeyMismatch),
            ),
            (limited, AttemptOutcome::NotExecuted { status: 429, retry_after: seconds(7) }),
            (reply(401, &json!({})), AttemptOutcome::NotExecuted { status: 401, retry_after: None }),
            (reply(403, &json!({})), AttemptOutcome::NotExecuted { status: 403, retry_after: None }),
            (reply(409, &json!({})), AttemptOutcome::NotExecuted { status: 409, retry_after: None }),
        ],
    );
}

#[test]
fn a_response_outside_the_protocol_leaves_the_outcome_unknown() {
    let unreadable = |status| AttemptOutcome::Unknown(UnknownReason::Unreadable { status });
    let failed = |status, replayed| AttemptOutcome::Unknown(UnknownReason::ServerError { status, replayed });
    let html = |status| ProcessorResponse::Received {
        status,
        replayed: false,
        retry_after: None,
        body: b"<html>Not for you</html>".to_vec(),
    };
    check(
        CHARGE,
        vec![
            (ProcessorResponse::NotSent, AttemptOutcome::NotSent),
            (ProcessorResponse::Lost, AttemptOutcome::Unknown(UnknownReason::NoResponse)),
            (reply(500, &error("api_error", "…")), failed(500, false)),
            (replayed(500, &error("api_error", "…")), failed(500, true)),
            (html(502), failed(502, false)),
            (html(503), failed(503, false)),
            (html(200), unreadable(200)),
            (html(400), unreadable(400)),
            (html(402), unreadable(402)),
            (html(404), unreadable(404)),
            (html(301), unreadable(301)),
            (html(201), unreadable(201)),
            (html(413), unreadable(413)),
        ],
    );
}

#[test]
fn a_fee_is_read_in_any_currency_and_is_optional() {
    let charge = |entry: Value| {
        let charge = json!({ "id": "ch_1", "object": "charge", "balance_transaction": entry });
        let response = reply(200, &with(intent("succeeded"), "latest_charge", charge));
        match classify(CHARGE, &response) {
            AttemptOutcome::Succeeded(reference) => reference.fee,
            outcome => panic!("{outcome}"),
        }
    };
    let fee = |currency: &str| Fee {
        balance_transaction: "txn_1".to_owned(),
        amount: 59,
        currency: currency.to_owned(),
    };
    for currency in ["usd", "xyz", "usdc"] {
        let named = charge(json!({ "id": "txn_1", "fee": 59, "currency": currency }));
        assert_eq!(named, Some(fee(&currency.to_uppercase())), "a currency that is not known is text");
    }
    assert_eq!(charge(json!("txn_1")), None, "it is not expanded");
    assert_eq!(charge(Value::Null), None, "it is not made yet");
}

fn page(data: &[Value], has_more: bool) -> Result<Page, AttemptOutcome> {
    read_page(&reply(200, &json!({ "object": "list", "data": data, "has_more": has_more })))
}

#[test]
fn a_page_has_its_objects_and_the_cursor_of_the_next() {
    let metadata = json!({ "reference": "r", "deployment": "d", "other": "o" });
    let foreign = with(intent("canceled"), "id", json!("pi_2"));
    let ours = with(with(intent("succeeded"), "metadata", metadata), "created", json!(1_700_000_000));
    let Page { items, next } = page(&[ours, foreign], true).unwrap();
    assert_eq!(next.as_deref(), Some("pi_2"));
    let (ours, foreign) = (&items[0], &items[1]);
    assert_eq!((ours.reference(), ours.deployment()), (Some("r"), Some("d")));
    assert_eq!((ours.amount, ours.amount_received, ours.currency.as_str()), (1999, Some(1999), "eur"));
    assert_eq!(ours.created.unwrap().timestamp(), 1_700_000_000);
    assert_eq!((foreign.reference(), foreign.status.as_str()), (None, "canceled"));
    assert_eq!(page(&[intent("succeeded")], false).unwrap().next, None);
}

#[test]
fn a_malformed_page_is_distinguished_from_an_empty_one() {
    let unreadable = AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 });
    assert_eq!(page(&[], false).unwrap().items, []);
    assert_eq!(page(&[], true), Err(unreadable.clone()), "it would never end");
    assert_eq!(read_page(&reply(200, &intent("succeeded"))), Err(unreadable));
    assert_eq!(read_page(&ProcessorResponse::NotSent), Err(AttemptOutcome::NotSent));
    let failed = AttemptOutcome::Unknown(UnknownReason::ServerError { status: 500, replayed: false });
    assert_eq!(read_page(&reply(500, &json!({}))), Err(failed));
}

#[test]
fn of_all_objects_of_one_reference_the_one_that_took_effect_decides() {
    let named = |status: &str, id: &str| with(intent(status), "id", json!(id));
    let found = |objects: &[Value]| classify_found(CHARGE, page(objects, false).unwrap().items);
    assert_eq!(found(&[]), LookupResult::NotFound);
    let one = found(&[named("canceled", "pi_2"), named("succeeded", "pi_3"), named("processing", "pi_4")]);
    assert_eq!(one, LookupResult::Found { object: "pi_3".to_owned(), outcome: done("pi_3") });
    let LookupResult::Found { outcome, .. } =
        found(&[named("succeeded", "pi_2"), named("succeeded", "pi_3")])
    else {
        panic!("it was found");
    };
    assert_eq!(outcome, AttemptOutcome::Unknown(UnknownReason::Duplicate));
    let other = with(named("succeeded", "pi_2"), "amount", json!(1));
    let LookupResult::Found { outcome, .. } = found(&[named("succeeded", "pi_3"), other]) else {
        panic!("it was found");
    };
    assert_eq!(outcome, AttemptOutcome::Unknown(UnknownReason::AmountMismatch));
    let unreadable = AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 200 });
    assert_eq!(found(&[named("requires_capture", "pi_2")]), LookupResult::Unanswered(unreadable));
}
