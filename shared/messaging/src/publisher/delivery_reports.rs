//! The results of published records, in the order in which the brokers answered. Within a partition this is the order of
//! publishing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::Refusal;

/// The result of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryReport {
    /// The token that was passed to [`publish`](crate::Publisher::publish).
    pub token: u64,
    /// The record's partition and offset, or the reason why the record is not acknowledged.
    pub result: Result<RecordMetadata, NotAcknowledged>,
}

/// The partition and offset of an acknowledged record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Its partition.
    pub partition: i32,
    /// Its offset; unknown if the broker already had the record from an earlier attempt.
    pub offset: Option<i64>,
}

/// The brokers did not acknowledge the record. It may be in its topic or not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not acknowledged, so it may or may not be in its topic: {0}")]
pub enum NotAcknowledged {
    /// The record was not refused. Publish it again.
    Unknown(String),
    /// The brokers refused the record for good.
    Refused(Refusal),
}

/// The delivery reports of one [`Publisher`](crate::Publisher). A record is outstanding until its report is read here.
pub struct DeliveryReports {
    receiver: UnboundedReceiver<DeliveryReport>, // Publisher::publish bounds it: it counts the unread reports
    outstanding: Arc<OutstandingRecords>,
}

impl DeliveryReports {
    pub(super) fn channel(outstanding: Arc<OutstandingRecords>) -> (UnboundedSender<DeliveryReport>, Self) {
        let (sender, receiver) = unbounded_channel();
        (sender, Self { receiver, outstanding })
    }

    /// Waits for the next report. Returns `None` once every report was read and the publisher is dropped or has forgotten its brokers.
    /// Dropping the future loses no report.
    pub async fn next(&mut self) -> Option<DeliveryReport> {
        self.receiver.recv().await.inspect(|_| self.outstanding.remove())
    }

    /// Returns the next report if one has arrived.
    pub fn try_next(&mut self) -> Option<DeliveryReport> {
        // Both errors mean "no report now": the queue is empty, or the publisher is dropped.
        self.receiver.try_recv().ok().inspect(|_| self.outstanding.remove())
    }
}

/// The number of records that were accepted and whose reports are unread.
#[derive(Default)]
pub(super) struct OutstandingRecords(AtomicUsize);

impl OutstandingRecords {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn remove(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}
