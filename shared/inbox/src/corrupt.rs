//! Parks records that Kafka's client cannot read, such as those with a wrong checksum, so that they stop no partition.
//!
//! The client gives the offset alone: no key, no headers and no bytes. So the record is parked alone. If a later message of
//! its aggregate arrives, the gap in the sequence holds that message, and no message of another aggregate.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use messaging::{Batch, ReceivedMessage, UnreadableRecord, admin};
use tokio_util::sync::CancellationToken;

use crate::HandlerError;
use crate::worker::Worker;

impl Worker {
    /// Parks the records from this one to the next that can be read, and lets the partition continue there.
    ///
    /// Ends also when the record can be read, or when the partition is revoked. Then the batch is dropped, and its partition is
    /// read again. As long as Kafka or the database fails, the batch waits: librdkafka can abort a process that reads a wrong
    /// checksum again and again beside other partitions.
    pub(crate) async fn park_corrupt(
        self: Arc<Self>,
        batch: Batch,
        record: UnreadableRecord,
        stop: CancellationToken,
    ) {
        while batch.is_current() {
            let parked = async {
                let parked = self.park_until_readable(&batch, &record).await;
                if let Err(failure) = &parked {
                    let consumer = self.consumer.name();
                    let (topic, partition, offset) = (batch.topic(), batch.partition(), record.offset);
                    tracing::warn!(consumer, topic, partition, offset, %failure, "a record that cannot be read was not parked; trying again");
                    tokio::time::sleep(self.settings.longest_pause).await;
                }
                parked
            };
            match stop.run_until_cancelled(parked).await {
                Some(Ok(next)) if next > record.offset => return batch.continue_at(next),
                Some(Ok(_)) | None => return,
                Some(Err(_)) => {}
            }
        }
    }

    /// Returns the offset of the next record that can be read. A client of its own tries each record again before.
    async fn park_until_readable(
        &self,
        batch: &Batch,
        record: &UnreadableRecord,
    ) -> Result<i64, Box<dyn Error + Send + Sync>> {
        let (topic, partition, first) = (batch.topic(), batch.partition(), record.offset);
        let next = admin::next_readable(&self.brokers, topic, partition, first).await?;
        if next > first {
            let without_content = ReceivedMessage {
                topic: topic.into(),
                partition,
                offset: first,
                key: None,
                headers: Vec::new(),
                payload: None,
                timestamp: None,
            };
            let error = HandlerError::Corrupt { first, last: next - 1, error: record.error.clone() };
            let parked = self.park_received(&without_content, Arc::new(error), Duration::ZERO).await;
            parked.map_err(|failed| failed.error)?;
        }
        Ok(next)
    }
}
