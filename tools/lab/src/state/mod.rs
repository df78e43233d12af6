//! The state of the page: one JSON object, which each panel reads its part of. A source that does not answer is named; it
//! never hides the others.

mod exchange;
mod part_state;
mod slow_source;
mod source;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use harness::Result;
use serde::Serialize;
use serde_json::Value;

use crate::action::Action;
use crate::fault::{Fault, FaultState};
use crate::panels::{ChargeTotals, Ledger, Orders, ServiceFigures};

pub(crate) use exchange::Exchange;
pub(crate) use part_state::PartState;
pub(crate) use slow_source::SlowSource;
pub(crate) use source::Source;

/// How many requests the log of the client keeps.
const MOST_EXCHANGES: usize = 6;

/// Everything that the page shows.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LabState {
    /// The tenant of this run. It is new, so that the figures of tenants begin at zero.
    pub(crate) tenant: String,
    /// Whether the item is on sale and in stock, so that orders can be placed.
    pub(crate) shop: Source<()>,
    /// The processes by name.
    pub(crate) parts: BTreeMap<String, PartState>,
    /// The requests of the client, the latest first.
    pub(crate) requests: VecDeque<Exchange>,
    pub(crate) orders: Source<Orders>,
    /// Outbox and inbox of each service.
    pub(crate) services: BTreeMap<&'static str, Source<ServiceFigures>>,
    /// The output of `./dev topics --json`.
    pub(crate) topics: SlowSource<Value>,
    pub(crate) ledger: Source<Ledger>,
    pub(crate) charges: Source<ChargeTotals>,
    pub(crate) faults: BTreeMap<Fault, FaultState>,
    /// When orders was started with a crash point, if it still has one.
    #[serde(skip)]
    pub(crate) armed_at: Option<Instant>,
    /// The actions that are not done yet.
    pub(crate) acting: BTreeSet<Action>,
    /// Why actions failed. A failure stays until its action is begun again.
    pub(crate) failures: BTreeMap<Action, String>,
    /// The output of `./dev audit --json`.
    pub(crate) audit: SlowSource<Value>,
}

impl LabState {
    /// Begins an action, and forgets its last failure. Returns false if the action is not done yet.
    pub(crate) fn begin_action(&mut self, action: Action) -> bool {
        let is_new = self.acting.insert(action);
        if is_new {
            self.failures.remove(&action);
        }
        is_new
    }

    /// Ends an action, and keeps its failure.
    pub(crate) fn end_action(&mut self, action: Action, done: Result<()>) {
        self.acting.remove(&action);
        if let Err(error) = done {
            self.failures.insert(action, error.to_string());
        }
    }

    /// Adds a request to the log; returns its number.
    pub(crate) fn begin(&mut self, request: &'static str, key: &str, copies: usize) -> u64 {
        let number = self.requests.front().map_or(1, |last| last.number + 1);
        self.requests.push_front(Exchange::new(number, request, key, copies));
        self.requests.truncate(MOST_EXCHANGES);
        number
    }

    /// The request of this number, unless the log has dropped it.
    pub(crate) fn exchange(&mut self, number: u64) -> Option<&mut Exchange> {
        self.requests.iter_mut().find(|exchange| exchange.number == number)
    }
}

#[cfg(test)]
mod tests {
    use harness::Error;

    use super::*;

    #[test]
    fn a_failure_stays_until_its_own_action_is_begun_again() {
        let mut state = LabState::default();
        assert!(state.begin_action(Action::StopBroker) && state.begin_action(Action::PlaceOrder));
        state.end_action(Action::StopBroker, Err(Error::Refused("no broker".to_owned())));
        assert!(!state.begin_action(Action::PlaceOrder), "it is not done yet");
        state.end_action(Action::PlaceOrder, Ok(()));
        assert_eq!(state.failures, [(Action::StopBroker, "no broker".to_owned())].into());
        assert!(state.begin_action(Action::StopBroker));
        assert!(state.failures.is_empty());
    }
}
