//! The history of a charge, from its request to the end of all injected faults.

use proptest::prelude::*;

use super::call::{AttemptResult, CallModel, Step, steps};
use super::model::{FEE, Fate, ProcessorModel, Verdict, fate, verdict};
use super::postings::{AMOUNT, Balances};
use crate::domain::ledger::Account;
use crate::domain::payment::{Announcement, Decision, Payment, State, cancel, decide};
use crate::domain::review::Reason;
use crate::domain::{CallInput, NextStep, Rejection};

/// Our side, the processor's side, and the requests between them.
struct World {
    payment: Payment,
    row: CallModel,
    books: ProcessorModel,
    /// The changes of state, from which the ledger posts.
    moves: Vec<(State, State)>,
    captures_announced: usize,
    refunds: usize,
    reviews: Vec<Reason>,
    contradicted: bool,
}

impl World {
    /// `restored`: the database was restored after the request was sent, and the request had this fate.
    fn new(verdict: Verdict, restored: Option<Fate>) -> Self {
        let mut books = ProcessorModel::new(verdict);
        restored.map(|fate| books.request(fate));
        let is_restored = restored.is_some();
        Self {
            payment: Payment { state: State::Requested, cancel_requested: false, is_restored },
            row: CallModel::new(),
            books,
            moves: Vec::new(),
            captures_announced: 0,
            refunds: 0,
            reviews: Vec::new(),
            contradicted: false,
        }
    }

    fn input(&mut self, input: CallInput) -> NextStep {
        self.decided(decide(&self.payment, input))
    }

    fn decided(&mut self, decision: Result<Decision, Rejection>) -> NextStep {
        match decision {
            Ok(decision) => {
                let change = (self.payment.state.clone(), decision.payment.state.clone());
                if change == (State::Requested, State::Unknown) {
                    self.row.may_be_sent();
                }
                self.moves.push(change);
                self.payment = decision.payment;
                self.captures_announced += usize::from(decision.announcement == Some(Announcement::Captured));
                self.refunds += usize::from(decision.refund);
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

    fn take(&mut self, expired: bool) {
        if self.row.is_due {
            let next = self.input(CallInput::Due(self.row.conditions(expired)));
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
            Step::Take { expired } => self.take(expired),
            Step::Act(which, fate) if self.row.is_out() > 0 => {
                self.row.act(which.index(self.row.is_out()), fate, &mut self.books);
            }
            Step::Report(which) if !self.row.seen.is_empty() => self.report(which.index(self.row.seen.len())),
            Step::Undo => match self.decided(Ok(cancel(&self.payment))) {
                NextStep::Stop => self.row.begin(NextStep::Stop),
                NextStep::Unchanged
                | NextStep::SendRequest
                | NextStep::Lookup
                | NextStep::RetryLater { .. }
                | NextStep::LookupLater { .. } => {}
            },
            Step::Wake => self.row.wake(),
            Step::Decide => self.books.decide(),
            Step::FeeIsKnown => self.books.tells_fee = true,
            Step::KeyIsForgotten => self.row.forget_key(&mut self.books),
            Step::Act(..) | Step::Report(_) => {}
        }
    }

    /// Ends all faults: every request in flight arrives, and the worker works until the call stops. If retries under the
    /// key alone do not end the call, the key expires.
    fn heal(&mut self) {
        self.books.tells_fee = true;
        for round in 0..20 {
            self.books.decide();
            self.take(false);
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
    // Histories with a repeated request, a refusal and a cancellation are rare, so many cases are needed.
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn our_books_end_as_the_processors_do(
        steps in steps(), verdict in verdict(), restored in prop::option::of(fate())
    ) {
        let mut world = World::new(verdict, restored);
        for step in steps {
            world.step(step);
            prop_assert!(world.books.moved <= 1, "it was charged twice");
            prop_assert!(world.captures_announced <= world.books.moved, "announced, and not taken");
        }
        world.heal();
        if let State::Captured(reference) = &world.payment.state {
            prop_assert!(reference.fee.is_some(), "the fee was never asked for");
        }
        // Request one more lookup, as the reconciliation does.
        world.row.wake();
        world.heal();
        prop_assert!(!world.contradicted, "the processor's response denies what was announced");
        prop_assert!(!world.row.is_due, "it did not come to rest: {:?} {:?}", world.payment, world.row);
        let moved = world.books.moved;
        match &world.payment.state {
            State::Captured(_) => prop_assert_eq!(moved, 1),
            State::Declined { .. } | State::Cancelled => prop_assert_eq!(moved, 0),
            // No object was found, which proves nothing. A review is open.
            State::Unknown => prop_assert_eq!((moved, world.reviews.last()), (0, Some(&Reason::NotFound))),
            State::Requested | State::Capturing => prop_assert!(false, "it did not end: {:?}", world.payment),
        }
        prop_assert_eq!(world.captures_announced, moved);
        // The processor owes us the captured amount less its fee.
        let (ledger, taken) = (Balances::of_charge(&world.moves), i64::try_from(moved).unwrap());
        prop_assert_eq!(ledger.of(Account::Receivable), taken * (AMOUNT - FEE));
        prop_assert_eq!((ledger.of(Account::Clearing), ledger.of(Account::Fees)), (-taken * AMOUNT, taken * FEE));
        prop_assert_eq!(ledger.sum(), 0);
        prop_assert_eq!(world.refunds, usize::from(moved == 1 && world.payment.cancel_requested));
    }
}
