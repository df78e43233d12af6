//! `Turns`: the transactions of a consumer, one after the other as far as possible.

use std::sync::Arc;
use std::time::Duration;

use database::Gather;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// The longest time that a batch waits for the transaction before it.
const TURN_TIMEOUT: Duration = Duration::from_millis(100);

/// Decides when the waiting batches start: after the transaction before them, and under load a moment later.
pub(crate) struct Turns {
    turn: Arc<Semaphore>,
    gather: Gather,
}

impl Turns {
    pub(crate) fn new(gather: Duration) -> Self {
        Self { turn: Arc::new(Semaphore::new(1)), gather: Gather::new(gather) }
    }

    /// Waits for the end of the transaction before, at most for [`TURN_TIMEOUT`]. A handler that waits for a row therefore
    /// delays the partitions outside its transaction only so long.
    pub(crate) async fn next(&self) -> Option<OwnedSemaphorePermit> {
        self.gather.wait().await;
        let turn = Arc::clone(&self.turn).acquire_owned();
        timeout_at(self.gather.not_before() + TURN_TIMEOUT, turn).await.ok()?.ok()
    }

    /// Notes the start of a transaction with so many messages that are not ignored.
    pub(crate) fn started(&mut self, messages: usize) {
        self.gather.started(Instant::now(), messages);
    }
}
