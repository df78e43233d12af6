//! Applies a batch as a whole, and after an error message by message.
//!
//! The offset of a batch is stored only after all of its messages are applied, held or parked. A database outage parks
//! no message; the partition waits. Only errors of the message itself count as attempts.

use std::ops::ControlFlow;

use database::Database;
use messaging::{Batch, Brokers};
use tokio_util::sync::CancellationToken;

use crate::HandlerError;
use crate::apply::apply;
use crate::consumer::Consumer;
use crate::error::BatchError;
use crate::message::IncomingMessage;
use crate::metrics::InboxMetrics;
use crate::runner_settings::RunnerSettings;

pub(crate) struct Worker {
    pub(crate) database: Database,
    pub(crate) brokers: Brokers,
    pub(crate) consumer: Consumer,
    pub(crate) settings: RunnerSettings,
}

impl Worker {
    /// Applies, holds or parks every message of the batch and then stores its offset. If `stop` is cancelled before,
    /// the batch is dropped, and the next owner of the partition receives it again.
    pub(crate) async fn process(&self, batch: Batch, stop: &CancellationToken) {
        if let Some(record) = batch.unreadable().cloned() {
            return self.skip_or_wait(batch, &record, stop).await;
        }
        if self.apply_all(&batch, stop).await.is_break() {
            return;
        }
        crashpoint::reach!("consume.after_commit");
        batch.done();
        crashpoint::reach!("consume.batch_done");
    }

    async fn apply_all(&self, batch: &Batch, stop: &CancellationToken) -> ControlFlow<()> {
        let metrics: &InboxMetrics = self.database.metrics();
        metrics.batch_size.observe(u32::try_from(batch.messages().len()).map_or(f64::MAX, f64::from));
        let decoded: Result<Vec<IncomingMessage>, HandlerError> =
            batch.messages().iter().map(IncomingMessage::decode_headers).collect();
        if let Ok(messages) = decoded {
            match apply(&self.database, &self.consumer, &messages).await {
                Ok(()) => return ControlFlow::Continue(()),
                Err(BatchError { error, .. }) => {
                    let consumer = self.consumer.name();
                    metrics.failed_attempts.inc();
                    tracing::warn!(consumer, failure = %error, "a batch was rolled back; its messages are applied one by one");
                }
            }
        }
        for received in batch.messages() {
            // Between two messages, because a batch may be long and the process is given a limited time to end.
            if stop.is_cancelled() {
                return ControlFlow::Break(());
            }
            self.apply_one(received, stop).await?;
        }
        ControlFlow::Continue(())
    }
}
