//! A charge, from the request to the end of all faults.

use proptest::prelude::*;

use super::model::{Books, FEE, Fate, Verdict, verdict};
use super::postings::{AMOUNT, Balances};
use super::row::{News, Row, Step, steps};
use crate::domain::ledger::Account;
use crate::domain::payment::{Input, Payment, State, Tell, decide};
use crate::domain::review::Reason;
use crate::domain::{Next, Rejection};

/// Our side and the processor's, with everything that is under way between them.
struct World {
    payment: Payment,
    row: Row,
    books: Books,
    /// From where to where it went, step by step: what the ledger posts.
    moves: Vec<(State, State)>,
    captures_told: usize,
    refunds: usize,
    reviews: Vec<Reason>,
    contradicted: bool,
}

impl World {
    fn new(verdict: Verdict) -> Self {
        Self {
            payment: Payment { state: State::Requested, cancel_requested: false },
            row: Row::new(),
            books: Books::new(verdict),
            moves: Vec::new(),
            captures_told: 0,
            refunds: 0,
            reviews: Vec::new(),
            contradicted: false,
        }
    }

    fn input(&mut self, input: Input) -> Next {
        match decide(&self.payment, input) {
            Ok(decision) => {
                self.moves.push((self.payment.state.clone(), decision.payment.state.clone()));
                self.payment = decision.payment;
                self.captures_told += usize::from(decision.tell == Some(Tell::Captured));
                self.refunds += usize::from(decision.refund);
                self.reviews.extend(decision.review);
                decision.next
            }
            Err(Rejection::Ended) => Next::Rest,
            Err(Rejection::Contradicted) => {
                self.contradicted = true;
                Next::Rest
            }
            Err(Rejection::NotInFlight | Rejection::Superseded) => Next::Keep,
        }
    }

    fn take(&mut self, expired: bool) {
        if self.row.is_due {
            let next = self.input(Input::Due(self.row.deadlines(expired)));
            self.row.begin(next);
        }
    }

    fn report(&mut self, which: usize) {
        let (attempt, news) = self.row.seen[which].clone();
        let superseded = attempt != self.row.attempt || !self.row.in_flight;
        let input = match news.clone() {
            News::Answered(outcome) => Input::Settled { outcome, superseded },
            News::LookedUp(finding) => {
                Input::LookedUp { finding, superseded, deadlines: self.row.deadlines(false) }
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
            Step::Undo => match self.input(Input::CancelRequested) {
                Next::Rest => self.row.begin(Next::Rest),
                Next::Keep | Next::Attempt | Next::LookUp | Next::Retry { .. } | Next::LookLater { .. } => {}
            },
            Step::Wake => self.row.wake(),
            Step::Decide => self.books.decide(),
            Step::FeeIsTold => self.books.tells_fee = true,
            Step::KeyIsForgotten => self.row.forget_key(&mut self.books),
            Step::Act(..) | Step::Report(_) => {}
        }
    }

    /// Faults end: everything that is out arrives, and the worker goes on until it rests. If the key alone cannot
    /// bring that about, its life ends as well.
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
    // The rare meetings of a repeated request, a refusal and a cancellation need many tries.
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn our_books_end_as_the_processors_do(steps in steps(), verdict in verdict()) {
        let mut world = World::new(verdict);
        for step in steps {
            world.step(step);
            prop_assert!(world.books.moved <= 1, "it was charged twice");
            prop_assert!(world.captures_told <= world.books.moved, "told, and not taken");
        }
        world.heal();
        if let State::Captured(receipt) = &world.payment.state {
            prop_assert!(receipt.fee.is_some(), "the fee was never asked for");
        }
        // At last somebody looks once more, as the reconciliation does.
        world.row.wake();
        world.heal();
        prop_assert!(!world.contradicted, "the processor's answer denies what we have told");
        prop_assert!(!world.row.is_due, "it did not come to rest: {:?} {:?}", world.payment, world.row);
        let moved = world.books.moved;
        match &world.payment.state {
            State::Captured(_) => prop_assert_eq!(moved, 1),
            State::Declined { .. } | State::Cancelled => prop_assert_eq!(moved, 0),
            // Nothing of it is in the processor's books, which proves nothing: a person looks.
            State::Unknown => prop_assert_eq!((moved, world.reviews.last()), (0, Some(&Reason::NotFound))),
            State::Requested | State::Capturing => prop_assert!(false, "it did not end: {:?}", world.payment),
        }
        prop_assert_eq!(world.captures_told, moved);
        // The ledger says what the processor owes us: what it took, less what it kept.
        let (ledger, taken) = (Balances::of_charge(&world.moves), i64::try_from(moved).unwrap());
        prop_assert_eq!(ledger.of(Account::Receivable), taken * (AMOUNT - FEE));
        prop_assert_eq!((ledger.of(Account::Clearing), ledger.of(Account::Fees)), (-taken * AMOUNT, taken * FEE));
        prop_assert_eq!(ledger.sum(), 0);
        prop_assert_eq!(world.refunds, usize::from(moved == 1 && world.payment.cancel_requested));
    }
}
