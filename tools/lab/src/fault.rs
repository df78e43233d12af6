//! The faults that the page can bring about, and whether each is active.

use std::collections::BTreeMap;
use std::time::Instant;

use harness::{Error, Part, Result};
use serde::Serialize;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::state::{PartState, Source};

/// A fault that stays until it is cured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fault {
    /// The broker is stopped.
    Broker,
    /// orders ends between its commit and its response.
    Crash,
    /// The processor charges, and its response is lost.
    Reply,
    /// The relay of orders is frozen.
    Relay,
}

/// The state of a fault, as the page shows it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FaultState {
    pub(crate) is_active: bool,
    /// A sentence without its full stop.
    pub(crate) shows: &'static str,
}

/// The crash point: after COMMIT, before the first byte of the response.
const AFTER_COMMIT: &str = "execute.after_commit:1";
const ORDERS: &str = "orders";
const RELAY: &str = "orders-relay";
const KAFKA: &str = "kafka";

impl Fault {
    /// Brings the fault about.
    pub(crate) async fn set(self, lab: &Lab) -> Result<()> {
        match self {
            Self::Broker => lab.dev.run(&["down", KAFKA]).await.map(drop),
            Self::Relay => lab.dev.run(&["pause", RELAY]).await.map(drop),
            Self::Reply => lab.api.set_faults(&lost_reply()).await,
            Self::Crash => {
                lab.dev.run(&["down", ORDERS]).await?;
                lab.dev.run_with(&["up", ORDERS], &[("IDEM_CRASH", AFTER_COMMIT.to_owned())]).await?;
                lab.state.send_modify(|state| state.armed_at = Some(Instant::now()));
                Ok(())
            }
        }
    }

    /// Ends the fault, also one that was brought about at the terminal.
    pub(crate) async fn cure(self, lab: &Lab) -> Result<()> {
        match self {
            Self::Broker => lab.dev.run(&["up", KAFKA]).await.map(drop),
            // Resumes a paused process, and starts one that has ended.
            Self::Relay => lab.dev.run(&["up", RELAY]).await.map(drop),
            Self::Reply => lab.api.clear_faults().await,
            Self::Crash => {
                // An armed process that still runs keeps its crash point until it is started again.
                lab.dev.run(&["down", ORDERS]).await?;
                lab.dev.run(&["up", ORDERS]).await?;
                lab.state.send_modify(|state| state.armed_at = None);
                Ok(())
            }
        }
    }
}

/// One response of the processor is lost. Webhooks come late, because otherwise they would reveal the outcome first.
fn lost_reply() -> Value {
    json!([
        {"kinds": ["drop_reply"], "route": "POST /v1/payment_intents", "times": 1},
        {"kinds": ["late_webhook"], "delay_ms": 1500},
    ])
}

/// The faults that the processor has now, and how often each has taken effect.
pub(crate) async fn rules(lab: &Lab) -> Result<Value> {
    let rules = lab.api.ask_processor("/_faults").await?;
    if rules["rules"].is_array() {
        Ok(rules)
    } else {
        Err(Error::unreadable("/_faults of provider", "no rules"))
    }
}

/// Keeps the time of arming, unless a look that began later has seen orders away: its process has died with the crash point. An
/// earlier look may have seen the restart that armed the process.
pub(crate) fn still_armed(
    armed_at: Option<Instant>,
    looked_at: Instant,
    parts: &BTreeMap<String, PartState>,
) -> Option<Instant> {
    let is_away = parts.get(ORDERS) == Some(&PartState::Away);
    armed_at.filter(|armed_at| !is_away || *armed_at > looked_at)
}

/// The state of every fault.
pub(crate) fn states(
    parts: &BTreeMap<String, PartState>,
    is_armed: bool,
    rules: &Source<Value>,
) -> BTreeMap<Fault, FaultState> {
    let part = |name: &str| parts.get(name).copied().unwrap_or(PartState::Away);
    let active = |shows| FaultState { is_active: true, shows };
    let inactive = |shows| FaultState { is_active: false, shows };
    let broker =
        if part(KAFKA) == PartState::Away { active("kafka is away") } else { inactive("kafka runs") };
    let crash = match (part(ORDERS), is_armed) {
        (PartState::Away, _) => active("orders is away"),
        (_, true) => active("armed: the next order ends the process"),
        (_, false) => inactive("orders runs"),
    };
    let relay = match part(RELAY) {
        PartState::Silent => active("the relay does not answer"),
        PartState::Away => active("the relay is away"),
        _ => inactive("the relay runs"),
    };
    let reply = match rules.value() {
        None => inactive("provider does not answer"),
        Some(rules) if rules["rules"].as_array().is_none_or(Vec::is_empty) => inactive("responses arrive"),
        Some(rules) if rules["bites"]["drop_reply"].as_i64() >= Some(1) => active("one response was lost"),
        Some(_) => active("the next response will be lost"),
    };
    BTreeMap::from([
        (Fault::Broker, broker),
        (Fault::Crash, crash),
        (Fault::Reply, reply),
        (Fault::Relay, relay),
    ])
}

/// Lets inventory read every message again from the first one. The consumer must not run meanwhile.
pub(crate) async fn rewind(lab: &Lab) -> Result<()> {
    let inventory = Part::INVENTORY.name();
    lab.dev.run(&["down", inventory]).await?;
    let rewind =
        ["run", inventory, "inbox", "rewind", "--to-beginning", "--by", "lab", "--reason", "a button"];
    let rewound = lab.dev.run(&rewind).await;
    lab.dev.run(&["up", inventory]).await?;
    rewound.map(drop)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seen(part: (&str, PartState), is_armed: bool, rules: &Value) -> BTreeMap<Fault, FaultState> {
        let mut parts = BTreeMap::from([KAFKA, ORDERS, RELAY].map(|name| (name.to_owned(), PartState::Up)));
        parts.insert(part.0.to_owned(), part.1);
        states(&parts, is_armed, &Source::Read(rules.clone()))
    }

    #[test]
    fn a_fault_is_shown_as_active_also_if_it_began_at_the_terminal() {
        let none = json!({"rules": [], "bites": {"drop_reply": 0}});
        let rules = lost_reply();
        let [set, hit] = [0, 1].map(|hits| json!({"rules": rules, "bites": {"drop_reply": hits}}));
        let well = (KAFKA, PartState::Up);
        for (part, is_armed, rules, fault, shows) in [
            ((KAFKA, PartState::Away), false, &none, Fault::Broker, "kafka is away"),
            ((ORDERS, PartState::Away), false, &none, Fault::Crash, "orders is away"),
            (well, true, &none, Fault::Crash, "armed: the next order ends the process"),
            ((RELAY, PartState::Silent), false, &none, Fault::Relay, "the relay does not answer"),
            ((RELAY, PartState::Away), false, &none, Fault::Relay, "the relay is away"),
            (well, false, &set, Fault::Reply, "the next response will be lost"),
            (well, false, &hit, Fault::Reply, "one response was lost"),
        ] {
            let states = seen(part, is_armed, rules);
            let active: Vec<_> = states.iter().filter(|(_, state)| state.is_active).collect();
            assert_eq!(active, [(&fault, &FaultState { is_active: true, shows })]);
        }
        assert!(seen(well, false, &none).values().all(|state| !state.is_active));
    }

    #[test]
    fn orders_is_no_longer_armed_once_it_was_seen_away() {
        let before = Instant::now();
        let [armed_at, after] = [1, 2].map(|seconds| before + Duration::from_secs(seconds));
        for (looked_at, seen, kept) in [
            (after, PartState::Up, Some(armed_at)),
            (before, PartState::Away, Some(armed_at)),
            (after, PartState::Away, None),
        ] {
            let parts = BTreeMap::from([(ORDERS.to_owned(), seen)]);
            assert_eq!(still_armed(Some(armed_at), looked_at, &parts), kept, "{seen:?}");
        }
    }
}
