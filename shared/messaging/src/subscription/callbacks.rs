//! The consumer's callbacks: assignment, revocation, commits, log lines.
//!
//! They run while the member polls. They only tell the member, and do no other work.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{ClientContext, Statistics, TopicPartitionList};
use tokio::sync::{SetOnce, mpsc};

use super::PartitionLags;
use super::SubscriptionSettings;
use super::membership::Membership;
use super::partition_reader::FetchQueue;
use crate::Brokers;
use crate::broker_loss::has_forgotten_brokers;
use crate::brokers::TokenFile;
use crate::client_log::ClientLog;

pub(super) type Consumer = StreamConsumer<ConsumerCallbacks>;

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TopicPartition {
    pub(super) topic: Arc<str>,
    pub(super) number: i32,
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.number)
    }
}

/// An event of the group, from the client to the member.
pub(super) enum GroupEvent {
    /// The group assigned a partition to this member.
    Assigned(TopicPartition, FetchQueue),
    /// The group revoked a partition.
    Revoked(TopicPartition),
    /// The client knows no committed offsets for some of its partitions, and does not ask again.
    OffsetsUnknown,
    /// The client has forgotten its brokers, and is outside its group.
    BrokersForgotten,
    /// The client hangs outside its group.
    Lost,
}

pub(super) struct ConsumerCallbacks {
    pub(super) log: ClientLog,
    token: TokenFile,
    group: String,
    member: mpsc::UnboundedSender<GroupEvent>,
    consumer: OnceLock<Weak<Consumer>>,
    pub(super) joined: Arc<SetOnce<()>>,
    membership: Mutex<Membership>,
    pub(super) lags: PartitionLags,
}

impl ConsumerCallbacks {
    pub(super) fn new(
        brokers: &Brokers,
        settings: &SubscriptionSettings,
        member: mpsc::UnboundedSender<GroupEvent>,
        joined: Arc<SetOnce<()>>,
    ) -> Self {
        Self {
            log: ClientLog::new(&settings.group, brokers.bootstrap()),
            token: brokers.token(),
            group: settings.group.clone(),
            member,
            consumer: OnceLock::new(),
            joined,
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
            if let Some(queue) = consumer.split_partition_queue(&partition.topic, partition.number) {
                self.tell(GroupEvent::Assigned(partition, queue));
            }
        }
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions assigned");
        let _ = self.joined.set(()); // fails from the second assignment on
    }

    fn revoked(&self, partitions: &TopicPartitionList) {
        crashpoint::reach!("consume.partitions_revoked");
        named(partitions).for_each(|partition| self.tell(GroupEvent::Revoked(partition)));
        let (group, count) = (self.group.as_str(), partitions.count());
        tracing::info!(target: "kafka", group, partitions = count, "partitions revoked");
    }

    fn tell(&self, event: GroupEvent) {
        let _ = self.member.send(event); // fails only if the member has ended
    }
}

impl ConsumerContext for ConsumerCallbacks {
    /// The group rebalances cooperatively: only partitions that move are revoked and assigned, and the others are read on.
    /// Commits nothing: the library commits the stored offsets itself before it gives up the partitions.
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
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
            self.tell(GroupEvent::OffsetsUnknown);
        }
    }

    fn stats(&self, statistics: Statistics) {
        self.log.statistics(&statistics);
        self.lags.replace(&statistics);
        let Some(group) = &statistics.cgrp else { return };
        if has_forgotten_brokers(&statistics) && waits_for_its_coordinator(&group.state, &group.join_state) {
            return self.tell(GroupEvent::BrokersForgotten);
        }
        // A poisoned lock is safe to use: each update is a single assignment.
        let mut membership = self.membership.lock().unwrap_or_else(PoisonError::into_inner);
        if membership.is_lost(&group.state, &group.join_state, Instant::now()) {
            self.tell(GroupEvent::Lost);
        }
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.token.read()
    }
}

/// Returns whether a client is outside its group, and waits for its coordinator alone: to join again, or to commit the last offsets of
/// partitions that it has lost. librdkafka 2.12 can crash when it closes a client in another state.
fn waits_for_its_coordinator(state: &str, join_state: &str) -> bool {
    let waits_to_join = join_state == "init";
    let waits_to_commit =
        matches!(join_state, "wait-unassign-to-complete" | "wait-incr-unassign-to-complete");
    state != "up" && (waits_to_join || waits_to_commit)
}

fn named(partitions: &TopicPartitionList) -> impl Iterator<Item = TopicPartition> {
    let elements = partitions.elements().into_iter();
    elements.map(|element| TopicPartition { topic: element.topic().into(), number: element.partition() })
}
