//! In-process wake-ups: a hint that there is work, never the truth. Whoever waits also polls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The name of a wake-up, for instance "the outbox has new rows".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WakeUp(pub &'static str);

#[derive(Default)]
pub(crate) struct Signals(Mutex<HashMap<WakeUp, Arc<Notify>>>);

impl Signals {
    pub(crate) fn get(&self, signal: WakeUp) -> Arc<Notify> {
        let mut signals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(signals.entry(signal).or_default())
    }
}
