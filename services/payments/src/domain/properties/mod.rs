//! What must hold whatever happens in whatever order: here with arbitrary inputs; in the modules against a processor
//! that keeps its own books, behind a network that loses, delays and repeats.

mod charges;
mod model;
mod postings;
mod refunds;
mod row;

use proptest::prelude::*;

use super::payment::{Input, Payment, State, Tell, decide};
use super::{Asks, Deadlines, Doubt, Finding, Next, Outcome, ProcessorReference, refund};

fn requested() -> Payment {
    Payment { state: State::Requested, cancel_requested: false }
}

fn receipt(with_fee: bool) -> ProcessorReference {
    model::receipt(with_fee)
}

fn deadlines() -> impl Strategy<Value = Deadlines> {
    any::<(bool, bool, bool, bool, bool)>().prop_map(
        |(expired, key_forgotten, looks_up, woken, searched_enough)| {
            let asks = if looks_up { Asks::LookUp } else { Asks::Request };
            Deadlines { expired, key_forgotten, asks, woken, searched_enough }
        },
    )
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let code = || "no".to_owned();
    prop_oneof![
        any::<bool>().prop_map(|with_fee| Outcome::Succeeded(receipt(with_fee))),
        Just(Outcome::Declined { code: code() }),
        Just(Outcome::NotSent),
        prop::sample::select(vec![401, 403, 409, 429])
            .prop_map(|status| Outcome::NotExecuted { status, retry_after: None }),
        any::<bool>().prop_map(move |replayed| Outcome::Rejected { code: code(), replayed }),
        Just(Outcome::Processing { object: Some("pi_1".to_owned()) }),
        Just(Outcome::RequiresAction { intent: "pi_1".to_owned() }),
        prop::sample::select(
            vec![Doubt::NoAnswer, Doubt::OtherAmount, Doubt::KeyMismatch, Doubt::DoneTwice,]
        )
        .prop_map(Outcome::Unknown),
        any::<bool>().prop_map(|replayed| Outcome::Unknown(Doubt::ServerError { status: 500, replayed })),
    ]
}

fn finding() -> impl Strategy<Value = Finding> {
    let object = || receipt(false).id;
    prop_oneof![
        outcome().prop_map(move |outcome| Finding::Found { object: object(), outcome }),
        Just(Finding::Missing),
        outcome().prop_map(Finding::Unanswered),
    ]
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let one = prop_oneof![
        deadlines().prop_map(Input::Due),
        (outcome(), any::<bool>()).prop_map(|(outcome, superseded)| Input::Settled { outcome, superseded }),
        (finding(), any::<bool>(), deadlines()).prop_map(|(finding, superseded, deadlines)| {
            Input::LookedUp { finding, superseded, deadlines }
        }),
        Just(Input::CancelRequested),
    ];
    prop::collection::vec(one, 0..32)
}

fn answers(input: &Input) -> bool {
    match input {
        Input::Settled { outcome, .. } => outcome.is_authoritative(),
        Input::LookedUp { finding, .. } => finding.is_authoritative(),
        Input::Due(_) | Input::CancelRequested => false,
    }
}

/// Whether it is the same end: the fee of a capture may become known after it.
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
        let (mut told, mut captures, mut refunds) = (0, 0, 0);
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            let is_same = is_same_end(&payment.state, &decision.payment.state);
            prop_assert!(!has_ended(&payment.state) || is_same, "{payment:?} {input:?}");
            told += usize::from(decision.tell.is_some());
            captures += usize::from(decision.tell == Some(Tell::Captured));
            refunds += usize::from(decision.refund);
            payment = decision.payment;
            prop_assert_eq!(told, usize::from(has_ended(&payment.state)));
            prop_assert_eq!(captures, usize::from(matches!(payment.state, State::Captured(_))));
            // All of it is given back if and only if it was both captured and called off.
            prop_assert_eq!(refunds, usize::from(captures == 1 && payment.cancel_requested));
        }
    }

    #[test]
    fn a_doubt_ends_only_with_an_answer_of_the_key(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            if payment.state == State::Unknown && decision.payment.state != State::Unknown {
                prop_assert!(answers(&input), "{input:?} ended a doubt");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn no_first_attempt_starts_after_the_expiry(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let is_late = matches!(input, Input::Due(Deadlines { expired: true, .. }));
            let Ok(decision) = decide(&payment, input) else { continue };
            if is_late && decision.next == Next::Attempt {
                prop_assert!(payment.state != State::Requested, "a late first attempt");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn what_may_have_been_sent_is_left_only_with_an_answer_or_to_people(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let Ok(decision) = decide(&payment, input.clone()) else { continue };
            if decision.next == Next::Rest && !has_ended(&decision.payment.state) {
                prop_assert!(decision.review.is_some(), "{payment:?} rests unseen after {input:?}");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn what_the_key_cannot_answer_is_never_asked_of_it_again(inputs in inputs()) {
        let mut payment = requested();
        for input in inputs {
            let asks = match &input {
                Input::Due(deadlines) => Some(deadlines.key_forgotten || deadlines.asks == Asks::LookUp),
                Input::Settled { .. } | Input::LookedUp { .. } | Input::CancelRequested => None,
            };
            let Ok(decision) = decide(&payment, input) else { continue };
            if asks == Some(true) && decision.next == Next::Attempt {
                prop_assert_eq!(&payment.state, &State::Requested, "a request under a key that is used up");
            }
            payment = decision.payment;
        }
    }

    #[test]
    fn a_refund_succeeds_once_and_fails_once(
        steps in prop::collection::vec((deadlines(), outcome(), finding(), 0..3, any::<bool>()), 0..32)
    ) {
        let mut refund = refund::Refund { state: refund::State::Pending, in_flight: false };
        let (mut successes, mut failures) = (0, 0);
        for (deadlines, outcome, finding, kind, superseded) in steps {
            let answered = match kind {
                0 => false,
                1 => outcome.is_authoritative(),
                _ => finding.is_authoritative(),
            };
            let input = match kind {
                0 => refund::Input::Due(deadlines),
                1 => refund::Input::Settled { outcome, superseded },
                _ => refund::Input::LookedUp { finding, superseded, deadlines },
            };
            let Ok(decision) = refund::decide(&refund, input.clone()) else { continue };
            if refund.state == refund::State::Unknown && decision.state != refund::State::Unknown {
                prop_assert!(answered, "{input:?} ended a doubt");
            }
            if decision.state != refund.state {
                successes += usize::from(matches!(decision.state, refund::State::Succeeded { .. }));
                failures += usize::from(matches!(decision.state, refund::State::Failed { .. }));
            }
            prop_assert!(successes <= 1 && failures <= 1, "{refund:?} {input:?}");
            refund = refund::Refund { state: decision.state, in_flight: decision.next == Next::Attempt };
        }
    }
}
