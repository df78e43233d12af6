//! The metrics of the inbox that this process counts: the outcomes of messages, the size of batches, errors, stopped
//! partitions, and the lag.
//!
//! An effect counts once it is committed. `readings` reads the waiting messages from the database.

use ::metrics::{
    Counter, Counters, Families, Gauge, Histogram, Number, Registry, Sample, count_buckets, register_gauges,
};
use messaging::PartitionLags;
use strum::{IntoStaticStr, VariantArray};

/// The outcome of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reception {
    /// It took effect, or its type is ignored. A held message counts when it is released.
    Applied,
    /// It was known, and had no effect.
    Duplicate,
    /// It came before an earlier message of its aggregate, and waits for it.
    Held,
    /// It cannot be applied, and waits for an operator.
    Parked,
}

/// The numbers of one committed batch.
#[derive(Clone, Copy, Default)]
pub(crate) struct BatchCounts {
    pub(crate) applied: usize,
    pub(crate) duplicates: usize,
    pub(crate) held: usize,
    pub(crate) parked: usize,
    pub(crate) skipped_gaps: usize,
}

/// The families of this crate.
#[derive(Debug)]
pub struct InboxMetrics {
    pub(crate) messages: Counters<Reception>,
    pub(crate) skipped_gaps: Counter,
    pub(crate) failed_attempts: Counter,
    pub(crate) missing_records: Counter,
    pub(crate) stopped_partitions: Gauge,
    pub(crate) batch_size: Histogram,
    pub(crate) lags: PartitionLags,
}

impl Default for InboxMetrics {
    fn default() -> Self {
        Self {
            messages: Counters::by("outcome"),
            skipped_gaps: Counter::default(),
            failed_attempts: Counter::default(),
            missing_records: Counter::default(),
            stopped_partitions: Gauge::default(),
            batch_size: Histogram::new(count_buckets()),
            lags: PartitionLags::default(),
        }
    }
}

impl InboxMetrics {
    /// Counts the messages of a batch whose transaction has committed.
    pub(crate) fn count_batch(&self, counts: BatchCounts) {
        let number = |messages: usize| messages.try_into().unwrap_or(u64::MAX);
        self.messages.add(Reception::Applied, number(counts.applied));
        self.messages.add(Reception::Duplicate, number(counts.duplicates));
        self.messages.add(Reception::Held, number(counts.held));
        self.messages.add(Reception::Parked, number(counts.parked));
        self.skipped_gaps.inc_by(number(counts.skipped_gaps));
    }

    /// Counts one more stopped partition, until the result is dropped.
    pub(crate) fn count_stopped_partition(&self) -> StoppedPartition {
        self.stopped_partitions.inc();
        StoppedPartition(self.stopped_partitions.clone())
    }
}

/// A partition that waits because aggregates fail alike.
pub(crate) struct StoppedPartition(Gauge);

impl Drop for StoppedPartition {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Families for InboxMetrics {
    fn register(&self, registry: &mut Registry) {
        self.messages.register(registry, "inbox_messages", "Messages, by outcome");
        let help = "Gaps in the history of an aggregate that a projection skipped";
        registry.register("inbox_skipped_gaps", help, self.skipped_gaps.clone());
        let help = "Batches and single messages that were rolled back after an error, to be tried again";
        registry.register("inbox_failed_attempts", help, self.failed_attempts.clone());
        let help = "Records that Kafka removed before this consumer read them";
        registry.register("inbox_missing_records", help, self.missing_records.clone());
        let help =
            "Partitions where this consumer waits, because more aggregates fail alike than may be parked";
        registry.register("inbox_stopped_partitions", help, self.stopped_partitions.clone());
        let help = "Messages that one transaction applies";
        registry.register("inbox_batch_messages", help, self.batch_size.clone());
        let lags = self.lags.clone();
        let help = "Messages of a partition of this consumer that are in Kafka and not processed";
        register_gauges(registry, "inbox_lag_messages", help, move || samples(&lags));
    }
}

fn samples(lags: &PartitionLags) -> Vec<Sample> {
    let sample = |(topic, partition, lag): (String, i32, i64)| Sample {
        labels: vec![("topic", topic), ("partition", partition.to_string())],
        value: Number::Whole(lag),
    };
    lags.current().into_iter().map(sample).collect()
}
