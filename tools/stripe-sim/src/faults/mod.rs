//! Faults on demand: which calls and which webhooks something happens to, and how often it has.
//!
//! They are held in memory: a restart ends every one of them, and two processes do not share them.

mod dice;
mod rule;

pub(crate) use rule::{Kind, Rule, Scope};

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::operations::cards::RefundCourse;

const SLOW_CARD: &str = "pm_card_idem_slow";
const CARD_WITHOUT_REPLY: &str = "pm_card_idem_charged_no_reply";

/// The rules from now on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    #[serde(default)]
    seed: u64,
    rules: Vec<Rule>,
}

/// What a call or an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Concern {
    /// Every reference by which a rule can mean it.
    pub(crate) names: Vec<String>,
    /// The one under which calls are counted.
    pub(crate) counted_as: String,
}

impl Concern {
    /// Of an object with this `metadata`.
    pub(crate) fn of_metadata(metadata: &Value) -> Self {
        let reference = metadata["reference"].as_str().unwrap_or_default().to_owned();
        Self { names: vec![reference.clone()], counted_as: reference }
    }
}

/// A fault that bites.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bite {
    pub(crate) kind: Kind,
    pub(crate) delay: Duration,
    pub(crate) retry_after: u64,
    /// At least 0 and less than 1, another for each call.
    pub(crate) spread: f64,
}

/// What a request carries to its operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Met {
    /// It waits so long before anything happens, with its key held.
    pub(crate) delay: Duration,
    /// It takes effect, and the answer that is stored and sent is a 500.
    pub(crate) fails_after: bool,
    /// The refund goes this way.
    pub(crate) refund_course: Option<RefundCourse>,
}

/// The faults of this process.
#[derive(Debug)]
pub(crate) struct Faults(Mutex<State>);

#[derive(Debug)]
struct State {
    seed: u64,
    /// With how often each has bitten.
    rules: Vec<(Rule, u64)>,
    /// By scope, place and reference.
    calls: HashMap<(Scope, String, String), u64>,
    bites: BTreeMap<&'static str, u64>,
}

impl Default for State {
    fn default() -> Self {
        let cards = [SLOW_CARD, CARD_WITHOUT_REPLY];
        let bites = Kind::ALL.iter().map(|kind| kind.name()).chain(cards).map(|name| (name, 0)).collect();
        Self { seed: 0, rules: Vec::new(), calls: HashMap::new(), bites }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self(Mutex::new(State::default()))
    }
}

impl Faults {
    /// What is set, and how often it bit.
    pub(crate) fn state(&self) -> Value {
        self.lock().view()
    }

    /// Sets the rules; calls are counted from one again. `Err` says what is wrong with them.
    pub(crate) fn change(&self, change: Change) -> Result<Value, String> {
        for rule in &change.rules {
            rule.check()?;
        }
        let mut state = self.lock();
        state.seed = change.seed;
        state.rules = change.rules.into_iter().map(|rule| (rule, 0)).collect();
        state.calls.clear();
        Ok(state.view())
    }

    /// Ends every fault and forgets the bites.
    pub(crate) fn clear(&self) -> Value {
        let mut state = self.lock();
        *state = State::default();
        state.view()
    }

    /// Whether there is any rule for calls, so that their reference must be known.
    pub(crate) fn concern_calls(&self) -> bool {
        self.lock().rules.iter().any(|(rule, _)| rule.scope() != Scope::Webhook)
    }

    /// Counts a call on a route, or an event of a type, and says what happens to it.
    pub(crate) fn meet(&self, scope: Scope, place: &str, concern: &Concern) -> Option<Bite> {
        let mut state = self.lock();
        if !state.rules.iter().any(|(rule, _)| rule.scope() == scope) {
            return None;
        }
        let counted = (scope, place.to_owned(), concern.counted_as.clone());
        let count = state.calls.entry(counted).or_default();
        *count += 1;
        let (count, seed) = (*count, state.seed);
        let bitten = state.rules.iter_mut().enumerate().find_map(|(index, (rule, bites))| {
            if rule.scope() != scope || !rule.means(place, concern, count, *bites) {
                return None;
            }
            let roll = dice::roll(seed, index, place, &concern.counted_as, count);
            let bite = rule.bite(roll)?;
            *bites += 1;
            Some(bite)
        });
        if let Some(bite) = bitten {
            *state.bites.entry(bite.kind.name()).or_default() += 1;
        }
        bitten
    }

    /// The slow card is about to be charged.
    pub(crate) fn count_slow_card(&self) {
        *self.lock().bites.entry(SLOW_CARD).or_default() += 1;
    }

    /// A card was charged whose answer is withheld.
    pub(crate) fn count_card_without_reply(&self) {
        *self.lock().bites.entry(CARD_WITHOUT_REPLY).or_default() += 1;
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
            .map(|(rule, bites)| {
                let mut rule = json!(rule);
                rule["bites"] = json!(bites);
                rule
            })
            .collect();
        json!({ "seed": self.seed, "rules": rules, "bites": self.bites })
    }
}
