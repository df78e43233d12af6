//! Faults on demand. They are held in memory: a restart ends every one of them, and two processes do not share them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cards::Card;

/// The longest delay that can be asked for.
pub(crate) const MAX_DELAY_MS: u64 = 60_000;

/// What is wrong at present.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Settings {
    /// Each charge waits so long before it is made.
    pub(crate) delay_ms: u64,
    /// Every request to `/v1` is answered with 503, and nothing is executed.
    pub(crate) outage: bool,
    /// So many of the next charges are made and committed, and then the connection is dropped without an answer.
    pub(crate) drop_reply_after_charge: u32,
}

/// A change of some settings; those that are absent stay.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    delay_ms: Option<u64>,
    outage: Option<bool>,
    drop_reply_after_charge: Option<u32>,
}

/// How often each fault has bitten since the faults were last cleared; those of the test cards apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Bites {
    delay_ms: u64,
    outage: u64,
    drop_reply_after_charge: u64,
    pm_card_idem_slow: u64,
    pm_card_idem_charged_no_reply: u64,
}

/// Settings and bites together, as `/_faults` shows them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct State {
    faults: Settings,
    bites: Bites,
}

/// The faults of this process.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<State>);

impl Faults {
    /// What is set, and how often it bit.
    pub(crate) fn state(&self) -> State {
        *self.lock()
    }

    /// Sets what the change names. `Err` says what is wrong with it.
    pub(crate) fn change(&self, change: Change) -> Result<State, String> {
        if change.delay_ms.is_some_and(|delay| delay > MAX_DELAY_MS) {
            return Err(format!("delay_ms is at most {MAX_DELAY_MS}"));
        }
        let mut state = self.lock();
        let faults = &mut state.faults;
        faults.delay_ms = change.delay_ms.unwrap_or(faults.delay_ms);
        faults.outage = change.outage.unwrap_or(faults.outage);
        faults.drop_reply_after_charge =
            change.drop_reply_after_charge.unwrap_or(faults.drop_reply_after_charge);
        Ok(*state)
    }

    /// Ends every fault and forgets the bites.
    pub(crate) fn clear(&self) -> State {
        let mut state = self.lock();
        *state = State::default();
        *state
    }

    /// How long this charge has to wait.
    pub(crate) fn delay_of_charge(&self, card: Option<Card>) -> Duration {
        let mut state = self.lock();
        if state.faults.delay_ms > 0 {
            state.bites.delay_ms += 1;
        }
        if card == Some(Card::Slow) {
            state.bites.pm_card_idem_slow += 1;
        }
        Duration::from_millis(state.faults.delay_ms) + card.map(Card::delay).unwrap_or_default()
    }

    /// Whether this request meets the outage.
    pub(crate) fn is_out(&self) -> bool {
        let mut state = self.lock();
        if state.faults.outage {
            state.bites.outage += 1;
        }
        state.faults.outage
    }

    /// Whether the answer to this charge, which is made and committed, is withheld.
    pub(crate) fn withholds_reply(&self, card: Option<Card>) -> bool {
        let mut state = self.lock();
        if card == Some(Card::ChargesWithoutReply) {
            state.bites.pm_card_idem_charged_no_reply += 1;
            return true;
        }
        let Some(left) = state.faults.drop_reply_after_charge.checked_sub(1) else { return false };
        state.faults.drop_reply_after_charge = left;
        state.bites.drop_reply_after_charge += 1;
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
