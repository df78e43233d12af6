//! A model of the call's row for the property tests, and the steps of a history.

use proptest::prelude::*;

use super::model::{Fate, ProcessorModel, fate};
use crate::domain::{AttemptOutcome, CallConditions, CallMode, LookupResult, NextStep};

const LOOK_UPS: u32 = 3;

/// The result of an attempt or lookup.
#[derive(Debug, Clone)]
pub(super) enum AttemptResult {
    Responded(AttemptOutcome),
    LookedUp(LookupResult),
}

/// The row of the call, as `store/calls.rs` updates it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the row has them")]
pub(super) struct CallModel {
    pub(super) attempt: usize,
    pub(super) in_flight: bool,
    pub(super) is_due: bool,
    mode: CallMode,
    look_up_requested: bool,
    look_ups: u32,
    named: bool,
    pub(super) key_expired: bool,
    /// The requests in flight, by attempt; `true` for a lookup.
    out: Vec<(usize, bool)>,
    /// The results, by attempt.
    pub(super) seen: Vec<(usize, AttemptResult)>,
}

impl CallModel {
    pub(super) fn new() -> Self {
        Self {
            attempt: 0,
            in_flight: false,
            is_due: true,
            mode: CallMode::Request,
            look_up_requested: false,
            look_ups: 0,
            named: false,
            key_expired: false,
            out: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub(super) fn conditions(&self, expired: bool) -> CallConditions {
        let is_last_look_up = self.look_ups + 1 >= LOOK_UPS;
        let Self { key_expired, mode, look_up_requested, .. } = *self;
        CallConditions {
            payment_expired: expired,
            key_expired,
            mode,
            look_up_requested,
            is_last_look_up,
            is_overdue: false,
        }
    }

    /// Records that the request may have been sent before the database was restored.
    pub(super) fn may_be_sent(&mut self) {
        (self.mode, self.is_due) = (CallMode::Lookup, true);
    }

    /// Updates the row after a decision about a due call.
    pub(super) fn begin(&mut self, next: NextStep) {
        match next {
            NextStep::SendRequest | NextStep::Lookup => {
                self.attempt += 1;
                self.in_flight = true;
                let looks_up = next == NextStep::Lookup;
                self.look_up_requested &= !looks_up;
                self.out.push((self.attempt, looks_up));
            }
            NextStep::Stop => {
                (self.in_flight, self.look_up_requested, self.is_due) = (false, false, false);
            }
            NextStep::RetryLater { .. } | NextStep::LookupLater { .. } | NextStep::Unchanged => {}
        }
    }

    /// Updates the row after a decision about a result.
    pub(super) fn end(&mut self, news: &AttemptResult, next: NextStep) {
        if next == NextStep::Unchanged {
            return;
        }
        self.in_flight = false;
        self.is_due = next != NextStep::Stop || self.look_up_requested;
        self.named |= match news {
            AttemptResult::Responded(outcome) => outcome.object().is_some(),
            AttemptResult::LookedUp(result) => result.object().is_some(),
        };
        match next {
            NextStep::LookupLater { found_nothing } => {
                self.mode = CallMode::Lookup;
                self.look_ups += u32::from(found_nothing);
            }
            NextStep::Stop | NextStep::RetryLater { .. } => self.look_ups = 0,
            NextStep::SendRequest | NextStep::Lookup | NextStep::Unchanged => {}
        }
    }

    /// A webhook, an operator or the reconciliation requests a lookup.
    pub(super) fn wake(&mut self) {
        if self.attempt > 0 || self.mode == CallMode::Lookup {
            (self.look_up_requested, self.is_due) = (true, true);
        }
    }

    /// Ends one of the requests in flight.
    pub(super) fn act(&mut self, which: usize, fate: Fate, books: &mut ProcessorModel) {
        let (attempt, looks_up) = self.out.remove(which);
        let news = if looks_up {
            AttemptResult::LookedUp(books.look_up(fate, self.named))
        } else {
            AttemptResult::Responded(books.request(fate))
        };
        self.seen.push((attempt, news));
    }

    pub(super) fn is_out(&self) -> usize {
        self.out.len()
    }

    /// Lets the key expire, if no request under it is in flight.
    pub(super) fn forget_key(&mut self, books: &mut ProcessorModel) {
        if self.out.iter().all(|(_, looks_up)| *looks_up) {
            self.key_expired |= self.attempt > 0;
            if self.key_expired {
                books.forget();
            }
        }
    }
}

/// One step of a history.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A worker takes the call.
    Take {
        expired: bool,
    },
    /// One of the requests in flight ends.
    Act(prop::sample::Index, Fate),
    /// A worker reports a result, possibly late or repeated.
    Report(prop::sample::Index),
    Wake,
    /// For a charge, its order is cancelled. For a refund, a bank returns it.
    Undo,
    /// The processor decides about a request that it was processing.
    Decide,
    FeeIsKnown,
    KeyIsForgotten,
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        6 => prop::bool::weighted(0.1).prop_map(|expired| Step::Take { expired }),
        6 => (any::<prop::sample::Index>(), fate()).prop_map(|(which, fate)| Step::Act(which, fate)),
        6 => any::<prop::sample::Index>().prop_map(Step::Report),
        2 => Just(Step::Wake),
        2 => Just(Step::Undo),
        1 => Just(Step::Decide),
        1 => Just(Step::FeeIsKnown),
        1 => Just(Step::KeyIsForgotten),
    ];
    prop::collection::vec(one, 0..48)
}
