//! Faults on demand: the rules of `/_faults`, which call or event they hit, and how often they did.
//!
//! Faults are held in memory. A restart ends all of them, and two processes do not share them.

mod dice;
mod rule;

pub(crate) use rule::{Kind, Rule, Target};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use strum::VariantArray;

const SLOW_CARD: &str = "pm_card_idem_slow";
const CARD_WITHOUT_REPLY: &str = "pm_card_idem_charged_no_reply";

/// The body of `POST /_faults`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleSet {
    #[serde(default)]
    seed: u64,
    rules: Vec<Rule>,
}

/// A fault that hits a call or an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) delay: Duration,
    /// A number from 0 to 1, another one for each call: the part of the delay that an event waits.
    pub(crate) spread: f64,
}

/// The part of a fault that a command must know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallFault {
    /// The command waits before it executes, and holds its key meanwhile.
    pub(crate) delay: Duration,
    /// The command takes effect, and a 500 is stored and sent.
    pub(crate) fails_after: bool,
    /// The command is refused with `balance_insufficient`, and this response is stored.
    pub(crate) lacks_balance: bool,
}

/// The faults of this process.
#[derive(Debug, Default)]
pub(crate) struct Faults(Mutex<State>);

#[derive(Debug)]
struct State {
    seed: u64,
    /// Each rule with the number of its hits.
    rules: Vec<(Rule, u64)>,
    /// The number of calls by target, route or event type, and reference.
    calls: HashMap<(Target, String, String), u64>,
    /// The number of hits by kind of fault, and by the two test cards that act like faults.
    hits: BTreeMap<&'static str, u64>,
}

impl Default for State {
    fn default() -> Self {
        let names = Kind::VARIANTS.iter().map(Into::into).chain([SLOW_CARD, CARD_WITHOUT_REPLY]);
        let hits = names.map(|name| (name, 0)).collect();
        Self { seed: 0, rules: Vec::new(), calls: HashMap::new(), hits }
    }
}

impl Faults {
    /// The rules and the numbers of their hits, as `/_faults` shows them.
    pub(crate) fn state(&self) -> Value {
        self.lock().view()
    }

    /// Replaces the rules, and counts calls from one again.
    pub(crate) fn set(&self, new: RuleSet) -> Result<Value, String> {
        new.rules.iter().try_for_each(Rule::check)?;
        let mut state = self.lock();
        state.seed = new.seed;
        state.rules = new.rules.into_iter().map(|rule| (rule, 0)).collect();
        state.calls.clear();
        Ok(state.view())
    }

    /// Removes every rule, and sets the counts to zero.
    pub(crate) fn clear(&self) -> Value {
        let mut state = self.lock();
        *state = State::default();
        state.view()
    }

    /// Returns whether there is a rule for calls. Only then a call's reference must be looked up.
    pub(crate) fn concern_calls(&self) -> bool {
        self.lock().rules.iter().any(|(rule, _)| rule.target() == Target::Call)
    }

    /// Counts a call or an event, and returns the first fault that hits it. `place` is the route or the event type.
    pub(crate) fn next(&self, target: Target, place: &str, reference: &str) -> Option<Fault> {
        let mut state = self.lock();
        if !state.rules.iter().any(|(rule, _)| rule.target() == target) {
            return None;
        }
        let count = state.calls.entry((target, place.to_owned(), reference.to_owned())).or_default();
        *count += 1;
        let (count, seed) = (*count, state.seed);
        let fault = state.rules.iter_mut().enumerate().find_map(|(index, (rule, hits))| {
            if rule.target() != target || !rule.matches(place, reference, *hits) {
                return None;
            }
            let fault = rule.fault(dice::roll(seed, index, place, reference, count))?;
            *hits += 1;
            Some(fault)
        })?;
        *state.hits.entry(fault.kind.into()).or_default() += 1;
        Some(fault)
    }

    /// Counts a charge of the slow card, as it begins.
    pub(crate) fn count_slow_card(&self) {
        *self.lock().hits.entry(SLOW_CARD).or_default() += 1;
    }

    /// Counts a charge of the card whose response is dropped.
    pub(crate) fn count_card_without_reply(&self) {
        *self.lock().hits.entry(CARD_WITHOUT_REPLY).or_default() += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn view(&self) -> Value {
        let rules: Vec<Value> = self
            .rules
            .iter()
            .map(|(rule, hits)| {
                let mut rule = json!(rule);
                rule["bites"] = json!(hits);
                rule
            })
            .collect();
        json!({ "seed": self.seed, "rules": rules, "bites": self.hits })
    }
}
