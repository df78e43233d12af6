//! The intent's row as the properties see it, and what may happen next.

use proptest::prelude::*;

use super::model::{Books, Fate, fate};
use crate::domain::{Asks, Deadlines, Finding, Next, Outcome};

const LOOK_UPS: u32 = 3;

/// What a worker saw.
#[derive(Debug, Clone)]
pub(super) enum News {
    Answered(Outcome),
    LookedUp(Finding),
}

/// The intent's row, as `store/intents.rs` keeps it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the row has them")]
pub(super) struct Row {
    pub(super) attempt: usize,
    pub(super) in_flight: bool,
    pub(super) is_due: bool,
    asks: Asks,
    woken: bool,
    look_ups: u32,
    named: bool,
    pub(super) key_forgotten: bool,
    /// What is out, by attempt; `true`: a look-up.
    out: Vec<(usize, bool)>,
    /// What workers saw, by attempt.
    pub(super) seen: Vec<(usize, News)>,
}

impl Row {
    pub(super) fn new() -> Self {
        Self {
            attempt: 0,
            in_flight: false,
            is_due: true,
            asks: Asks::Request,
            woken: false,
            look_ups: 0,
            named: false,
            key_forgotten: false,
            out: Vec::new(),
            seen: Vec::new(),
        }
    }

    pub(super) fn deadlines(&self, expired: bool) -> Deadlines {
        let searched_enough = self.look_ups + 1 >= LOOK_UPS;
        let Self { key_forgotten, asks, woken, .. } = *self;
        Deadlines { expired, key_forgotten, asks, woken, searched_enough }
    }

    /// Carries out what was decided when it came due.
    pub(super) fn begin(&mut self, next: Next) {
        match next {
            Next::Attempt | Next::LookUp => {
                self.attempt += 1;
                self.in_flight = true;
                let looks_up = next == Next::LookUp;
                self.woken &= !looks_up;
                self.out.push((self.attempt, looks_up));
            }
            Next::Rest => {
                (self.in_flight, self.woken, self.is_due) = (false, false, false);
            }
            Next::Retry { .. } | Next::LookLater { .. } | Next::Keep => {}
        }
    }

    /// Carries out what was decided about news.
    pub(super) fn end(&mut self, news: &News, next: Next) {
        if next == Next::Keep {
            return;
        }
        self.in_flight = false;
        self.is_due = next != Next::Rest || self.woken;
        self.named |= match news {
            News::Answered(outcome) => outcome.object().is_some(),
            News::LookedUp(finding) => finding.object().is_some(),
        };
        match next {
            Next::LookLater { in_vain } => {
                self.asks = Asks::LookUp;
                self.look_ups += u32::from(in_vain);
            }
            Next::Rest | Next::Retry { .. } => self.look_ups = 0,
            Next::Attempt | Next::LookUp | Next::Keep => {}
        }
    }

    /// A webhook, an operator or the reconciliation wants a look-up.
    pub(super) fn wake(&mut self) {
        if self.attempt > 0 {
            (self.woken, self.is_due) = (true, true);
        }
    }

    /// One of what is out meets its fate.
    pub(super) fn act(&mut self, which: usize, fate: Fate, books: &mut Books) {
        let (attempt, looks_up) = self.out.remove(which);
        let news = if looks_up {
            News::LookedUp(books.look_up(fate, self.named))
        } else {
            News::Answered(books.request(fate))
        };
        self.seen.push((attempt, news));
    }

    pub(super) fn is_out(&self) -> usize {
        self.out.len()
    }

    /// The key is given up, which a request that is out has not outlived.
    pub(super) fn forget_key(&mut self, books: &mut Books) {
        if self.out.iter().all(|(_, looks_up)| *looks_up) {
            self.key_forgotten |= self.attempt > 0;
            if self.key_forgotten {
                books.forget();
            }
        }
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A worker looks at the intent: it is due, or another worker's lease has ended.
    Take {
        expired: bool,
    },
    /// One of the requests that are out reaches its fate.
    Act(prop::sample::Index, Fate),
    /// Some worker reports what it saw, perhaps again, perhaps late.
    Report(prop::sample::Index),
    Wake,
    /// The order is cancelled, or the bank returns the money.
    Undo,
    /// The processor decides what it had taken on.
    Decide,
    FeeIsTold,
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
        1 => Just(Step::FeeIsTold),
        1 => Just(Step::KeyIsForgotten),
    ];
    prop::collection::vec(one, 0..48)
}
