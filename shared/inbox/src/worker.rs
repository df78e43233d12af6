//! Applies batches together, after an error each batch, and then its halves, down to single messages. A message that its handler refuses
//! is parked, and the others are tried again together.
//!
//! The offset of a batch is stored only after all of its messages are applied, held or parked. A database outage parks
//! no message; the partition waits. Only errors of the message itself count as attempts.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use database::Database;
use futures_util::future::join_all;
use messaging::{Batch, Brokers, ReceivedMessage};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::apply::apply;
use crate::batch_plan::Steps;
use crate::consumer::Consumer;
use crate::error::{BatchError, Cause};
use crate::message::Arrival;
use crate::metrics::InboxMetrics;
use crate::runner_settings::RunnerSettings;

/// So many messages of a part are refused before it is halved: each costs one more transaction for all of them.
const MAX_REFUSED: usize = 16;

pub(crate) struct Worker {
    pub(crate) database: Database,
    pub(crate) brokers: Brokers,
    pub(crate) consumer: Consumer,
    pub(crate) settings: RunnerSettings,
}

impl Worker {
    /// Applies, holds or parks every message of these batches, and stores the offset of each. If `stop` is cancelled
    /// before, a batch is dropped, and the next owner of its partition receives it again.
    ///
    /// The batches end their turn after their common transaction. A batch with a failing message does not delay others.
    pub(crate) async fn process(
        self: Arc<Self>,
        batches: Vec<Batch>,
        turn: Option<OwnedSemaphorePermit>,
        stop: CancellationToken,
    ) {
        let messages: Vec<&ReceivedMessage> = batches.iter().flat_map(Batch::messages).collect();
        let applied = self.try_apply(&messages).await;
        drop(turn);
        if applied {
            crashpoint::reach!("consume.after_commit");
            return batches.into_iter().for_each(done);
        }
        let is_alone = batches.len() == 1;
        join_all(batches.into_iter().map(|batch| self.process_alone(batch, is_alone, &stop))).await;
    }

    /// Applies a batch whose messages failed with those of other batches, or alone.
    async fn process_alone(&self, batch: Batch, has_failed: bool, stop: &CancellationToken) {
        let messages: Vec<&ReceivedMessage> = batch.messages().iter().collect();
        if self.apply_parts(&messages, has_failed, stop).await.is_continue() {
            crashpoint::reach!("consume.after_commit");
            done(batch);
        }
    }

    /// Applies the messages in order. Each part that fails is halved. Because one message of a hundred fails alone, the
    /// others cost a few transactions instead of a hundred.
    async fn apply_parts(
        &self,
        messages: &[&ReceivedMessage],
        has_failed: bool,
        stop: &CancellationToken,
    ) -> ControlFlow<()> {
        let mut parts = vec![(messages, has_failed)];
        while let Some((part, has_failed)) = parts.pop() {
            // Between two parts, because a batch may be long and the process is given a limited time to end.
            if stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            if let [message] = part {
                self.apply_one(message, stop).await?;
            } else if has_failed || !self.try_apply(part).await {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([(second, false), (first, false)]);
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns whether one transaction has applied the messages, or parked those that are refused.
    async fn try_apply(&self, messages: &[&ReceivedMessage]) -> bool {
        let metrics: &InboxMetrics = self.database.metrics();
        metrics.batch_size.observe(u32::try_from(messages.len()).map_or(f64::MAX, f64::from));
        let arrival =
            |message| Arrival::of(message).unwrap_or_else(|error| Arrival::refused(message, Arc::new(error)));
        let mut batch: Vec<Arrival> = messages.iter().map(|message| arrival(message)).collect();
        let (consumer, messages, mut refused) = (self.consumer.name(), batch.len(), 0);
        loop {
            let applied = apply(self, &batch, Steps::Together, Duration::ZERO).await;
            let Err(BatchError { error, cause, .. }) = applied else { return true };
            metrics.failed_attempts.inc();
            let failed = batch.iter_mut().find(|arrival| cause == Cause::Received(arrival.entry.id));
            let failed = failed.filter(|_| error.is_final() && refused < MAX_REFUSED);
            let Some(failed) = failed else {
                tracing::warn!(consumer, messages, failure = %error, "messages were rolled back together; fewer are tried at a time");
                return false;
            };
            tracing::warn!(consumer, messages, failure = %error, "messages were rolled back together; one is parked, and the others are tried again");
            failed.message = Err(error);
            refused += 1;
        }
    }
}

fn done(batch: Batch) {
    batch.done();
    crashpoint::reach!("consume.batch_done");
}
