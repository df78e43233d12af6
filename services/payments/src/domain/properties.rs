//! What must hold whatever happens in whatever order: first with arbitrary inputs, then against a processor that keeps
//! its own books, behind a network that loses, delays and repeats.

use proptest::prelude::*;

use super::payment::{Input, Payment, State, Tell, decide};
use super::{Deadlines, Doubt, Next, Outcome, Receipt, Rejection, refund};

const DUE: Deadlines = Deadlines { expired: false, key_forgotten: false };

fn requested() -> Payment {
    Payment { state: State::Requested, cancel_requested: false }
}

fn receipt() -> Receipt {
    Receipt { id: "pi_1".to_owned(), charge: Some("ch_1".to_owned()) }
}

fn deadlines() -> impl Strategy<Value = Deadlines> {
    any::<(bool, bool)>().prop_map(|(expired, key_forgotten)| Deadlines { expired, key_forgotten })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let code = || "no".to_owned();
    prop_oneof![
        Just(Outcome::Succeeded(receipt())),
        Just(Outcome::Declined { code: code() }),
        Just(Outcome::NotSent),
        prop::sample::select(vec![401, 403, 409, 429])
            .prop_map(|status| Outcome::NotExecuted { status, retry_after: None }),
        any::<bool>().prop_map(move |replayed| Outcome::Rejected { code: code(), replayed }),
        Just(Outcome::Processing),
        Just(Outcome::RequiresAction { intent: "pi_1".to_owned() }),
        prop::sample::select(vec![Doubt::NoAnswer, Doubt::OtherAmount, Doubt::KeyMismatch])
            .prop_map(Outcome::Unknown),
        any::<bool>().prop_map(|replayed| Outcome::Unknown(Doubt::ServerError { status: 500, replayed })),
    ]
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let one = prop_oneof![
        deadlines().prop_map(Input::Due),
        (outcome(), any::<bool>()).prop_map(|(outcome, superseded)| Input::Settled { outcome, superseded }),
        Just(Input::CancelRequested),
    ];
    prop::collection::vec(one, 0..32)
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
            prop_assert!(!has_ended(&payment.state) || decision.payment.state == payment.state, "{payment:?} {input:?}");
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
                let answered = matches!(&input, Input::Settled { outcome, .. } if outcome.is_authoritative());
                prop_assert!(answered, "{input:?} ended a doubt");
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
    fn a_refund_ends_once(steps in prop::collection::vec((deadlines(), outcome(), any::<(bool, bool)>()), 0..32)) {
        let mut refund = refund::Refund { state: refund::State::Pending, in_flight: false };
        for (deadlines, outcome, (is_due, superseded)) in steps {
            let input =
                if is_due { refund::Input::Due(deadlines) } else { refund::Input::Settled { outcome, superseded } };
            let Ok(decision) = refund::decide(&refund, input.clone()) else { continue };
            let ended = matches!(refund.state, refund::State::Succeeded { .. } | refund::State::Failed { .. });
            prop_assert!(!ended, "{refund:?} {input:?}");
            let answered = matches!(&input, refund::Input::Settled { outcome, .. } if outcome.is_authoritative());
            if refund.state == refund::State::Unknown && decision.state != refund::State::Unknown {
                prop_assert!(answered, "{input:?} ended a doubt");
            }
            refund = refund::Refund { state: decision.state, in_flight: decision.next == Next::Attempt };
        }
    }
}

/// What the processor thinks of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Approves,
    Declines,
    /// The request itself is wrong; nothing is stored under its key.
    Rejects,
}

/// What happens to one request on its way.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Answered,
    NotSent,
    RateLimited,
    /// The network has repeated it: its double is being processed, and this one is turned away with 409.
    KeyInUse,
    FailedBeforeActing,
    ReplyLost,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A worker looks at the intent: it is due, or another worker's lease has ended.
    Take {
        expired: bool,
    },
    /// One of the requests that are out reaches its fate.
    Act(prop::sample::Index, Fate),
    /// Some worker reports an outcome that it saw, perhaps again, perhaps late.
    Report(prop::sample::Index),
    Cancel,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Fate::*;
    let fates = vec![Answered, NotSent, RateLimited, KeyInUse, FailedBeforeActing, ReplyLost];
    let one = prop_oneof![
        3 => prop::bool::weighted(0.1).prop_map(|expired| Step::Take { expired }),
        3 => (any::<prop::sample::Index>(), prop::sample::select(fates)).prop_map(|(i, fate)| Step::Act(i, fate)),
        3 => any::<prop::sample::Index>().prop_map(Step::Report),
        2 => Just(Step::Cancel),
    ];
    prop::collection::vec(one, 0..40)
}

/// Our side and the processor's, with everything that is under way between them.
struct World {
    payment: Payment,
    attempt: usize,
    /// Requests that are out, by attempt.
    out: Vec<usize>,
    /// Outcomes that a worker saw, by attempt.
    seen: Vec<(usize, Outcome)>,
    verdict: Verdict,
    /// The key's stored answer.
    stored: Option<Outcome>,
    charges: usize,
    refunds: usize,
    contradicted: bool,
}

impl World {
    fn input(&mut self, input: Input) {
        let decision = decide(&self.payment, input);
        self.contradicted |= decision == Err(Rejection::Contradicted);
        let Ok(decision) = decision else { return };
        self.payment = decision.payment;
        self.refunds += usize::from(decision.refund);
        if decision.next == Next::Attempt {
            self.attempt += 1;
            self.out.push(self.attempt);
        }
    }

    fn act(&mut self, which: usize, fate: Fate) {
        let attempt = self.out.remove(which);
        let outcome = match fate {
            Fate::NotSent => Outcome::NotSent,
            Fate::RateLimited => Outcome::NotExecuted { status: 429, retry_after: None },
            Fate::KeyInUse => {
                self.process();
                Outcome::NotExecuted { status: 409, retry_after: None }
            }
            Fate::FailedBeforeActing => Outcome::Unknown(Doubt::ServerError { status: 503, replayed: false }),
            Fate::ReplyLost => {
                self.process();
                Outcome::Unknown(Doubt::NoAnswer)
            }
            Fate::Answered => self.process(),
        };
        self.seen.push((attempt, outcome));
    }

    /// The processor's promise: a key takes effect once, and its first answer is its only one.
    fn process(&mut self) -> Outcome {
        if let Some(stored) = &self.stored {
            return stored.clone();
        }
        let answer = match self.verdict {
            Verdict::Approves => {
                self.charges += 1;
                Outcome::Succeeded(receipt())
            }
            Verdict::Declines => Outcome::Declined { code: "no".to_owned() },
            Verdict::Rejects => return Outcome::Rejected { code: "wrong".to_owned(), replayed: false },
        };
        self.stored.insert(answer).clone()
    }

    fn report(&mut self, which: usize) {
        let Some((attempt, outcome)) = self.seen.get(which).cloned() else { return };
        self.input(Input::Settled { outcome, superseded: attempt != self.attempt });
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Take { expired } => self.input(Input::Due(Deadlines { expired, ..DUE })),
            Step::Act(which, fate) if !self.out.is_empty() => self.act(which.index(self.out.len()), fate),
            Step::Report(which) if !self.seen.is_empty() => self.report(which.index(self.seen.len())),
            Step::Cancel => self.input(Input::CancelRequested),
            Step::Act(..) | Step::Report(_) => {}
        }
    }

    /// Faults end: everything that is out arrives, and the worker goes on until it rests.
    fn heal(&mut self) {
        for _ in 0..3 {
            self.input(Input::Due(DUE));
            while !self.out.is_empty() {
                self.act(0, Fate::Answered);
            }
            for which in 0..self.seen.len() {
                self.report(which);
            }
        }
    }
}

proptest! {
    // The rare meetings of a repeated request, a refusal and a cancellation need many tries.
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn our_books_end_as_the_processors_do(
        steps in steps(),
        verdict in prop::sample::select(vec![Verdict::Approves, Verdict::Declines, Verdict::Rejects]),
    ) {
        let (out, seen) = (Vec::new(), Vec::new());
        let mut world = World {
            payment: requested(), attempt: 0, out, seen, verdict, stored: None, charges: 0, refunds: 0,
            contradicted: false,
        };
        for step in steps {
            world.step(step);
            prop_assert!(world.charges <= 1);
            if matches!(world.payment.state, State::Captured(_)) {
                prop_assert_eq!(world.charges, 1);
            }
        }
        world.heal();
        prop_assert!(!world.contradicted, "the processor's answer denies what we have told");
        match &world.payment.state {
            State::Captured(_) => prop_assert_eq!(world.charges, 1),
            State::Declined { .. } | State::Cancelled => prop_assert_eq!(world.charges, 0),
            // A refusal that is not the key's own answer proves nothing: a person looks.
            State::Unknown => prop_assert_eq!((verdict, world.charges), (Verdict::Rejects, 0)),
            State::Requested | State::Capturing => prop_assert!(false, "it did not end: {:?}", world.payment),
        }
        prop_assert_eq!(world.refunds, usize::from(world.charges == 1 && world.payment.cancel_requested));
    }
}
