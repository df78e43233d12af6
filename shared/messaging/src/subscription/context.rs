//! The consumer's callbacks: they run inside `poll`, on the consumer's thread, and only pass on what happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics, TopicPartitionList};

use super::SubscriptionSettings;
use super::commands::{Command, Commands, Generation, Place};
use crate::Brokers;
use crate::client_log::ClientLog;

pub(super) type Consumer = BaseConsumer<MemberContext>;

/// Which assignment is in force, known to the callbacks first.
#[derive(Clone, Default)]
pub(super) struct Assignment(Arc<AtomicU64>);

impl Assignment {
    pub(super) fn generation(&self) -> Generation {
        self.0.load(Ordering::Acquire)
    }

    fn ends(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

pub(super) struct MemberContext {
    pub(super) log: ClientLog,
    pub(super) assignment: Assignment,
    group: String,
    commands: Commands,
    consumer: OnceLock<Weak<Consumer>>,
}

impl MemberContext {
    pub(super) fn new(brokers: &Brokers, settings: &SubscriptionSettings, commands: Commands) -> Self {
        Self {
            log: ClientLog::new(&settings.group, brokers.bootstrap()),
            assignment: Assignment::default(),
            group: settings.group.clone(),
            commands,
            consumer: OnceLock::new(),
        }
    }

    /// Splitting off a partition's queue needs the shared consumer, and callbacks are given a plain reference.
    pub(super) fn remember(&self, consumer: &Arc<Consumer>) {
        self.consumer.get_or_init(|| Arc::downgrade(consumer));
    }

    /// Gives each partition a queue of its own before fetching starts: a partition whose queue is not read is
    /// held back by the client's own flow control, while the others go on.
    fn assigned(&self, partitions: &TopicPartitionList) {
        let Some(consumer) = self.consumer.get().and_then(Weak::upgrade) else { return }; // it is being dropped
        for element in partitions.elements() {
            let place = Place { topic: element.topic().into(), partition: element.partition() };
            tracing::debug!(target: "kafka", group = self.group.as_str(), %place, "partition assigned");
            if let Some(mut queue) = consumer.split_partition_queue(element.topic(), element.partition()) {
                let waker = self.commands.clone();
                queue.set_nonempty_callback(move || waker.wake());
                self.commands.send(Command::Assigned(place, queue));
            }
        }
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions assigned");
    }

    fn revoked(&self, partitions: &TopicPartitionList) {
        crashpoint::reach!("consume.partitions_revoked");
        self.assignment.ends();
        self.commands.send(Command::Revoked);
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions revoked");
    }
}

impl ConsumerContext for MemberContext {
    /// The offsets stored so far need no word here: the library commits them before it lets the partitions go.
    fn pre_rebalance(&self, _: &Consumer, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => self.assigned(partitions),
            Rebalance::Revoke(partitions) => self.revoked(partitions),
            Rebalance::Error(error) => self.log.problem(&format!("rebalancing failed: {error}")),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        match result {
            Ok(()) | Err(KafkaError::ConsumerCommit(RDKafkaErrorCode::NoOffset)) => {}
            Err(error) => self.log.problem(&format!("offsets are not committed yet: {error}")),
        }
    }
}

impl ClientContext for MemberContext {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.log.line(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(&error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        self.log.statistics(&statistics);
    }
}
