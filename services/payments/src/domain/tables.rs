//! Examples from the decision tables: the pairs of state and input that are easy to get wrong.

use super::payment::{Payment, State, decide};
use super::review::Reason;
use super::{
    AttemptOutcome, CallConditions, CallInput, CallMode, Fee, LookupResult, NextStep, ProcessorReference,
    Rejection, UnknownReason, refund,
};

fn fee() -> Fee {
    Fee { balance_transaction: "txn_1".to_owned(), amount: 59, currency: "EUR".to_owned() }
}

fn payment(state: State) -> Payment {
    Payment { state, cancel_requested: false, is_restored: false }
}

fn after(state: State, outcome: AttemptOutcome) -> State {
    decide(&payment(state), CallInput::AttemptEnded { outcome, superseded: false }).unwrap().payment.state
}

#[test]
fn a_key_in_use_is_no_proof_that_nothing_happened() {
    let refused = |status| AttemptOutcome::NotExecuted { status, retry_after: None };
    assert_eq!(after(State::Capturing, refused(409)), State::Unknown);
    assert_eq!(after(State::Capturing, refused(429)), State::Requested);
    assert_eq!(after(State::Unknown, refused(429)), State::Unknown);
}

#[test]
fn a_rejection_ends_an_unknown_outcome_only_as_the_stored_response_of_the_key() {
    let rejected = |replayed| AttemptOutcome::Rejected { code: "no".to_owned(), replayed };
    let declined = State::Declined { code: "no".to_owned() };
    assert_eq!(after(State::Capturing, rejected(false)), declined);
    assert_eq!(after(State::Unknown, rejected(false)), State::Unknown);
    assert_eq!(after(State::Unknown, rejected(true)), declined);
}

#[test]
fn an_outcome_that_no_retry_can_end_is_looked_up_or_reviewed() {
    for (doubt, next) in [
        (UnknownReason::NoResponse, (NextStep::RetryLater { may_have_arrived: true }, None)),
        (
            UnknownReason::ServerError { status: 503, replayed: false },
            (NextStep::RetryLater { may_have_arrived: true }, None),
        ),
        (
            UnknownReason::ServerError { status: 500, replayed: true },
            (NextStep::LookupLater { found_nothing: false }, None),
        ),
        (UnknownReason::AmountMismatch, (NextStep::Stop, Some(Reason::OtherAmount))),
        (UnknownReason::KeyMismatch, (NextStep::Stop, Some(Reason::KeyMismatch))),
        (UnknownReason::Duplicate, (NextStep::Stop, Some(Reason::Contradicted))),
    ] {
        let input = CallInput::AttemptEnded { outcome: AttemptOutcome::Unknown(doubt), superseded: false };
        let decision = decide(&payment(State::Capturing), input).unwrap();
        assert_eq!((decision.next, decision.review), next, "{doubt}");
    }
}

#[test]
fn a_response_that_contradicts_an_announcement_is_noticed() {
    let taken = |id: &str| {
        AttemptOutcome::Succeeded(ProcessorReference { id: id.to_owned(), charge: None, fee: Some(fee()) })
    };
    let captured =
        State::Captured(ProcessorReference { id: "pi_1".to_owned(), charge: None, fee: Some(fee()) });
    let declined = AttemptOutcome::Declined { code: "no".to_owned() };
    for (state, outcome, rejection) in [
        (captured.clone(), taken("pi_1"), Rejection::Ended),
        (captured.clone(), taken("pi_2"), Rejection::Contradicted),
        (captured.clone(), declined, Rejection::Contradicted),
        (captured, AttemptOutcome::NotSent, Rejection::Ended),
        (State::Cancelled, taken("pi_1"), Rejection::Contradicted),
        (State::Cancelled, AttemptOutcome::NotSent, Rejection::Ended),
    ] {
        let input = CallInput::AttemptEnded { outcome, superseded: false };
        assert_eq!(decide(&payment(state), input), Err(rejection));
    }
}

#[test]
fn a_refund_whose_lost_request_may_have_outlived_its_key_is_looked_up_and_never_requested() {
    let with = |key_expired, look_up_requested, is_last_look_up| CallConditions {
        payment_expired: false,
        key_expired,
        mode: CallMode::Request,
        look_up_requested,
        is_last_look_up,
        is_overdue: false,
    };
    let pending = refund::Refund { state: refund::State::Pending, in_flight: false };
    for (conditions, next) in [
        (with(false, false, false), NextStep::SendRequest),
        (with(true, false, false), NextStep::Lookup),
        (with(false, true, false), NextStep::Lookup),
    ] {
        let decision = refund::decide(&pending, CallInput::Due(conditions)).unwrap();
        assert_eq!((decision.state, decision.next), (refund::State::Pending, next), "{conditions:?}");
    }
    let looked_up = refund::Refund { in_flight: true, ..pending };
    for (conditions, next, review) in [
        // The lookup was an extra one.
        (with(false, false, false), NextStep::RetryLater { may_have_arrived: false }, None),
        (with(true, false, false), NextStep::LookupLater { found_nothing: true }, None),
        (with(true, false, true), NextStep::Stop, Some(Reason::NotFound)),
    ] {
        let input = CallInput::LookedUp { result: LookupResult::NotFound, superseded: false, conditions };
        let decision = refund::decide(&looked_up, input).unwrap();
        assert_eq!((decision.next, decision.review), (next, review), "{conditions:?}");
    }
}
