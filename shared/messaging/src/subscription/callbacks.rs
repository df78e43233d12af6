//! The consumer's callbacks: assignment, revocation, commits, log lines.
//!
//! They run inside `poll`, on the consumer thread. They only send commands to that thread's loop, and do no other work.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics, TopicPartitionList};
use tokio::sync::SetOnce;

use super::PartitionLags;
use super::SubscriptionSettings;
use super::commands::{CommandSender, Generation, ThreadCommand, TopicPartition};
use super::membership::Membership;
use crate::Brokers;
use crate::brokers::TokenFile;
use crate::client_log::ClientLog;

pub(super) type Consumer = BaseConsumer<ConsumerCallbacks>;

/// The present generation of each partition. Batches share it; the revocation callback raises it.
#[derive(Clone, Default)]
pub(super) struct Generations(Arc<Mutex<HashMap<TopicPartition, Generation>>>);

impl Generations {
    pub(super) fn get(&self, partition: &TopicPartition) -> Generation {
        self.lock().get(partition).copied().unwrap_or_default()
    }

    fn raise(&self, partition: &TopicPartition) {
        *self.lock().entry(partition.clone()).or_default() += 1;
    }

    /// A poisoned lock is safe to use: each update is a single assignment.
    fn lock(&self) -> MutexGuard<'_, HashMap<TopicPartition, Generation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct ConsumerCallbacks {
    pub(super) log: ClientLog,
    pub(super) generations: Generations,
    token: TokenFile,
    group: String,
    commands: CommandSender,
    consumer: OnceLock<Weak<Consumer>>,
    pub(super) joined: Arc<SetOnce<()>>,
    membership: Mutex<Membership>,
    pub(super) lags: PartitionLags,
}

impl ConsumerCallbacks {
    pub(super) fn new(brokers: &Brokers, settings: &SubscriptionSettings, commands: CommandSender) -> Self {
        Self {
            log: ClientLog::new(&settings.group, brokers.bootstrap()),
            generations: Generations::default(),
            token: brokers.token(),
            group: settings.group.clone(),
            commands,
            consumer: OnceLock::new(),
            joined: Arc::default(),
            membership: Mutex::default(),
            lags: settings.lags.clone(),
        }
    }

    /// Stores the shared consumer. The library passes callbacks a plain reference, which cannot split off a queue.
    pub(super) fn set_consumer(&self, consumer: &Arc<Consumer>) {
        self.consumer.get_or_init(|| Arc::downgrade(consumer));
    }

    /// Gives each partition its own queue before fetching starts.
    ///
    /// The client's flow control then stops fetching for a partition whose queue is not read, and for no other.
    fn assigned(&self, partitions: &TopicPartitionList) {
        let Some(consumer) = self.consumer.get().and_then(Weak::upgrade) else { return }; // it is being dropped
        for partition in named(partitions) {
            tracing::debug!(target: "kafka", group = self.group.as_str(), %partition, "partition assigned");
            if let Some(mut queue) = consumer.split_partition_queue(&partition.topic, partition.partition) {
                let waker = self.commands.clone();
                queue.set_nonempty_callback(move || waker.wake());
                self.commands.send(ThreadCommand::Assigned(partition, queue));
            }
        }
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions assigned");
        let _ = self.joined.set(()); // fails from the second assignment on
    }

    fn revoked(&self, partitions: &TopicPartitionList) {
        crashpoint::reach!("consume.partitions_revoked");
        let revoked: Vec<TopicPartition> = named(partitions).collect();
        for partition in &revoked {
            self.generations.raise(partition);
        }
        self.commands.send(ThreadCommand::Revoked(revoked));
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions revoked");
    }
}

impl ConsumerContext for ConsumerCallbacks {
    /// The group rebalances cooperatively: only partitions that move are revoked and assigned, and the others are read on.
    /// Commits nothing: the library commits the stored offsets itself before it gives up the partitions.
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

impl ClientContext for ConsumerCallbacks {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.log.line(level, facility, text);
    }

    /// librdkafka asks once where a group starts. After an error, such as that the coordinator has moved, it reports the error,
    /// and the partition is not read until it is assigned again. Only the text distinguishes this error.
    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(&error, reason);
        if reason.contains("Failed to fetch committed offset") {
            self.commands.send(ThreadCommand::OffsetsUnknown);
        }
    }

    fn stats(&self, statistics: Statistics) {
        self.log.statistics(&statistics);
        self.lags.replace(&statistics);
        let Some(group) = &statistics.cgrp else { return };
        // A poisoned lock is safe to use: each update is a single assignment.
        let mut membership = self.membership.lock().unwrap_or_else(PoisonError::into_inner);
        if membership.is_lost(&group.state, &group.join_state, Instant::now()) {
            self.commands.send(ThreadCommand::Lost);
        }
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.token.read()
    }
}

fn named(partitions: &TopicPartitionList) -> impl Iterator<Item = TopicPartition> {
    let elements = partitions.elements().into_iter();
    elements.map(|element| TopicPartition { topic: element.topic().into(), partition: element.partition() })
}
