//! Property tests of the decision tables.
//!
//! The tests in this file apply arbitrary inputs. The modules run histories against a model of the processor, behind a
//! network that loses, delays and repeats messages.

mod call;
mod charges;
mod model;
mod postings;
mod refunds;

use proptest::prelude::*;

use super::payment::{self, Announcement, Decision, Payment, State};
use super::{
    AttemptOutcome, CallConditions, CallInput, CallMode, LookupResult, NextStep, ProcessorReference,
    Rejection, UnknownReason, refund,
};

fn requested() -> Payment {
    Payment { state: State::Requested, cancel_requested: false, is_restored: false }
}

fn reference(with_fee: bool) -> ProcessorReference {
    model::reference(with_fee)
}

fn conditions() -> impl Strategy<Value = CallConditions> {
    any::<(bool, bool, bool, bool, bool, bool)>().prop_map(
        |(payment_expired, key_expired, looks_up, look_up_requested, is_last_look_up, is_overdue)| {
            let mode = if looks_up { CallMode::Lookup } else { CallMode::Request };
            CallConditions {
                payment_expired,
                key_expired,
                mode,
                look_up_requested,
                is_last_look_up,
                is_overdue,
            }
        },
    )
}

fn outcome() -> impl Strategy<Value = AttemptOutcome> {
    let code = || "no".to_owned();
    prop_oneof![
        any::<bool>().prop_map(|with_fee| AttemptOutcome::Succeeded(reference(with_fee))),
        Just(AttemptOutcome::Declined { code: code() }),
        Just(AttemptOutcome::NotSent),
        prop::sample::select(vec![401, 403, 409, 429])
            .prop_map(|status| AttemptOutcome::NotExecuted { status, retry_after: None }),
        any::<bool>().prop_map(move |replayed| AttemptOutcome::Rejected { code: code(), replayed }),
        Just(AttemptOutcome::Processing { object: Some("pi_1".to_owned()) }),
        Just(AttemptOutcome::RequiresAction { payment_intent: "pi_1".to_owned() }),
        prop::sample::select(vec![
            UnknownReason::NoResponse,
            UnknownReason::AmountMismatch,
            UnknownReason::KeyMismatch,
            UnknownReason::Duplicate,
        ])
        .prop_map(AttemptOutcome::Unknown),
        any::<bool>().prop_map(|replayed| AttemptOutcome::Unknown(UnknownReason::ServerError {
            status: 500,
            replayed
        })),
    ]
}

fn result() -> impl Strategy<Value = LookupResult> {
    let object = || reference(false).id;
    prop_oneof![
        outcome().prop_map(move |outcome| LookupResult::Found { object: object(), outcome }),
        Just(LookupResult::NotFound),
        outcome().prop_map(LookupResult::Unanswered),
    ]
}

/// Something that happens to a payment.
#[derive(Debug, Clone)]
enum Input {
    Call(CallInput),
    /// The order was cancelled.
    Cancelled,
}

fn decide(payment: &Payment, input: Input) -> Result<Decision, Rejection> {
    match input {
        Input::Call(input) => payment::decide(payment, input),
        Input::Cancelled => Ok(payment::cancel(payment)),
    }
}

fn call_input() -> impl Strategy<Value = CallInput> {
    prop_oneof![
        conditions().prop_map(CallInput::Due),
        (outcome(), any::<bool>())
            .prop_map(|(outcome, superseded)| CallInput::AttemptEnded { outcome, superseded }),
        (result(), any::<bool>(), conditions()).prop_map(|(result, superseded, conditions)| {
            CallInput::LookedUp { result, superseded, conditions }
        }),
    ]
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let one = prop_oneof![3 => call_input().prop_map(Input::Call), 1 => Just(Input::Cancelled)];
    prop::collection::vec(one, 0..32)
}

fn ends_doubt(input: &CallInput) -> bool {
    match input {
        CallInput::AttemptEnded { outcome, .. } => outcome.is_authoritative(),
        CallInput::LookedUp { result: LookupResult::Found { outcome, .. }, .. } => outcome.is_authoritative(),
        CallInput::LookedUp { .. } | CallInput::Due(_) => false,
    }
}

/// Returns whether both states are the same end. The fee may become known after the capture.
fn is_same_end(a: &State, b: &State) -> bool {
    match (a, b) {
        (State::Captured(a), State::Captured(b)) => a.id == b.id && (a.fee.is_none() || a.fee == b.fee),
        (a, b) => a == b,
    }
}

fn has_ended(state: &State) -> bool {
    matches!(state, State::Captured(_) | State::Declined { .. } | State::Cancelled)
}

proptest! {
    #[test]
    fn no_sequence_of_inputs_captures_twice_or_refunds_more_than_was_captured(inputs in inputs()) {
        let mut payment = requested();
        let (mut announced, mut captures, mut refunds) = (0, 0, 0);
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            let is_same = is_same_end(&payment.state, &decision.payment.state);
            prop_assert!(!has_ended(&payment.state) || is_same, "{payment:?} {input:?}");
            announced += usize::from(decision.announcement.is_some());
            captures += usize::from(decision.announcement == Some(Announcement::Captured));
            refunds += usize::from(decision.refund);
            payment = decision.payment;
            prop_assert_eq!(announced, usize::from(has_ended(&payment.state)));
            prop_assert_eq!(captures, usize::from(matches!(payment.state, State::Captured(_))));
            // The payment is refunded if and only if it is captured and its order is cancelled.
            prop_assert_eq!(refunds, usize::from(captures == 1 && payment.cancel_requested));
        }
    }

    #[test]
    fn an_unknown_outcome_ends_only_with_authoritative_evidence(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            if payment.state == State::Unknown && decision.payment.state != State::Unknown {
                prop_assert!(matches!(&input, Input::Call(input) if ends_doubt(input)), "{input:?} ended a doubt");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn no_first_attempt_starts_after_the_expiry(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let is_late = matches!(input, Input::Call(CallInput::Due(CallConditions { payment_expired: true, .. })));
            let Ok(decision) = decide(&payment, input) else { continue };
            if is_late && decision.next == NextStep::SendRequest {
                prop_assert!(payment.state != State::Requested, "a late first attempt");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn a_request_that_may_have_been_sent_stops_only_with_an_outcome_or_a_review(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            if decision.next == NextStep::Stop && !has_ended(&decision.payment.state) {
                prop_assert!(decision.review.is_some(), "{payment:?} rests unseen after {input:?}");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn a_key_that_cannot_answer_is_never_used_again(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let mode = match &input {
                Input::Call(CallInput::Due(conditions)) => {
                    Some(conditions.key_expired || conditions.mode == CallMode::Lookup)
                }
                Input::Call(_) | Input::Cancelled => None,
            };
            let Ok(decision) = decide(&payment, input) else { continue };
            if mode == Some(true) && decision.next == NextStep::SendRequest {
                prop_assert_eq!(&payment.state, &State::Requested, "a request under a key that is used up");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn a_refund_succeeds_once_and_fails_once(inputs in prop::collection::vec(call_input(), 0..32)) {
        let mut refund = refund::Refund { state: refund::State::Pending, in_flight: false };
        let (mut successes, mut failures) = (0, 0);
        for input in inputs {
            let Ok(decision) = refund::decide(&refund, input.clone()) else { continue };
            if refund.state == refund::State::Unknown && decision.state != refund::State::Unknown {
                prop_assert!(ends_doubt(&input), "{input:?} ended a doubt");
            }
            if decision.state != refund.state {
                successes += usize::from(matches!(decision.state, refund::State::Succeeded { .. }));
                failures += usize::from(matches!(decision.state, refund::State::Failed { .. }));
            }
            prop_assert!(successes <= 1 && failures <= 1, "{refund:?} {input:?}");
            refund = refund::Refund { state: decision.state, in_flight: decision.next == NextStep::SendRequest };
        }
    }
}
