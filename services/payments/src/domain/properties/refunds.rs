//! The history of a refund, from its request to the end of all injected faults, with a bank that may return it.

use proptest::prelude::*;

use super::call::{AttemptResult, CallModel, Step, steps};
use super::model::{Fate, ProcessorModel, Verdict, fate, verdict};
use super::postings::{AMOUNT, Balances};
use crate::domain::ledger::Account;
use crate::domain::refund::{Refund, State, decide};
use crate::domain::review::Reason;
use crate::domain::{CallInput, NextStep, Rejection};

struct World {
    state: State,
    row: CallModel,
    books: ProcessorModel,
    /// The changes of state, from which the ledger posts.
    moves: Vec<(State, State)>,
    reviews: Vec<Reason>,
    contradicted: bool,
}

impl World {
    /// `restored`: the database was restored after the request was sent, the request had this fate, and the key is forgotten.
    fn new(verdict: Verdict, restored: Option<Fate>) -> Self {
        let (mut row, mut books) = (CallModel::new(), ProcessorModel::new(verdict));
        if let Some(fate) = restored {
            books.request(fate);
            books.forget();
            row.key_expired = true;
        }
        Self {
            state: State::Pending,
            row,
            books,
            moves: Vec::new(),
            reviews: Vec::new(),
            contradicted: false,
        }
    }

    fn input(&mut self, input: CallInput) -> NextStep {
        match decide(&Refund { state: self.state.clone(), in_flight: self.row.in_flight }, input) {
            Ok(decision) => {
                self.moves.push((self.state.clone(), decision.state.clone()));
                self.state = decision.state;
                self.reviews.extend(decision.review);
                decision.next
            }
            Err(Rejection::Ended) => NextStep::Stop,
            Err(Rejection::Contradicted) => {
                self.contradicted = true;
                NextStep::Stop
            }
            Err(Rejection::NotInFlight | Rejection::Superseded) => NextStep::Unchanged,
        }
    }

    fn take(&mut self) {
        if self.row.is_due {
            let next = self.input(CallInput::Due(self.row.conditions(false)));
            self.row.begin(next);
        }
    }

    fn report(&mut self, which: usize) {
        let (attempt, news) = self.row.seen[which].clone();
        let superseded = attempt != self.row.attempt || !self.row.in_flight;
        let input = match news.clone() {
            AttemptResult::Responded(outcome) => CallInput::AttemptEnded { outcome, superseded },
            AttemptResult::LookedUp(result) => {
                CallInput::LookedUp { result, superseded, conditions: self.row.conditions(false) }
            }
        };
        let next = self.input(input);
        self.row.end(&news, next);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Take { .. } => self.take(),
            Step::Act(which, fate) if self.row.is_out() > 0 => {
                self.row.act(which.index(self.row.is_out()), fate, &mut self.books);
            }
            Step::Report(which) if !self.row.seen.is_empty() => self.report(which.index(self.row.seen.len())),
            Step::Undo => {
                self.books.give_back();
                self.row.wake();
            }
            Step::Wake => self.row.wake(),
            Step::Decide => self.books.decide(),
            Step::KeyIsForgotten => self.row.forget_key(&mut self.books),
            Step::Act(..) | Step::Report(_) | Step::FeeIsKnown => {}
        }
    }

    /// Ends all faults, as for a charge.
    fn heal(&mut self) {
        for round in 0..20 {
            self.books.decide();
            self.take();
            while self.row.is_out() > 0 {
                self.row.act(0, Fate::Answered, &mut self.books);
            }
            for which in 0..self.row.seen.len() {
                self.report(which);
            }
            if round == 10 {
                self.row.forget_key(&mut self.books);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn our_refunds_end_as_the_processors_do(
        steps in steps(), verdict in verdict(), restored in prop::option::of(fate())
    ) {
        let mut world = World::new(verdict, restored);
        for step in steps {
            world.step(step);
            prop_assert!(world.books.moved <= 1, "it was given back twice");
        }
        world.heal();
        // Request one more lookup, as the reconciliation does.
        world.row.wake();
        world.heal();
        prop_assert!(!world.contradicted, "the processor's response denies what was announced");
        prop_assert!(!world.row.is_due, "it did not come to rest: {:?} {:?}", world.state, world.row);
        let given = world.books.moved == 1 && !world.books.returned;
        let (ledger, gone) = (Balances::of_refund(&world.moves), if given { AMOUNT } else { 0 });
        prop_assert_eq!((ledger.of(Account::Refunds), ledger.of(Account::Receivable)), (gone, -gone));
        let was_announced = world.moves.iter().any(|(_, to)| matches!(to, State::Succeeded { .. }));
        match &world.state {
            State::Succeeded { .. } => prop_assert!(given),
            State::Failed { .. } => {
                prop_assert!(!given);
                let reason = if was_announced { Reason::RefundReturned } else { Reason::RefundFailed };
                prop_assert_eq!(world.reviews.last(), Some(&reason));
            }
            State::Unknown => prop_assert_eq!((given, world.reviews.last()), (false, Some(&Reason::NotFound))),
            State::Pending => prop_assert!(false, "it did not end"),
        }
    }
}
