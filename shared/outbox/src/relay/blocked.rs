//! The events that the brokers cannot take, and later events of the same aggregates.
//!
//! Such an event blocks its own aggregate only. It enters the table `outbox_blocked` in the checkpoint that passes it, so
//! that it is never lost. An operator removes the cause and releases the events. Their ids then go back among the gaps, and the relay
//! reads them again in order.
//!
//! The relay itself releases events whose topic could not be used: it was missing, a partition had no leader, or the brokers refused the
//! relay's clock or its rights. It releases the first event of the topic, and all others once that one was not refused again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use database::functions::clock_timestamp;
use database::{Database, Tx};
use diesel::dsl::min;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::BigInt;
use diesel_async::RunQueryDsl;
use messaging::topics::{self, TopicState};
use messaging::{Brokers, Record, Refusal};
use tokio::time::Instant;
use uuid::Uuid;

diesel::table! {
    outbox_blocked (id) {
        id -> BigInt,
        aggregate_id -> Uuid,
        error -> Nullable<Text>,
        unusable_topic -> Nullable<Text>,
        blocked_at -> Timestamptz,
        released_at -> Nullable<Timestamptz>,
    }
}

/// The time between two looks for released events.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The time between two attempts to use unusable topics. Doubles up to the longest while they are refused.
const TOPIC_INTERVAL: Duration = Duration::from_secs(5);
const LONGEST_TOPIC_INTERVAL: Duration = Duration::from_mins(1);

/// The number of new events that are stored at a time.
const EVENTS_PER_SAVE: usize = 1_000;

/// What one relay knows of the table. Only the relay with the lease inserts into it.
pub(super) struct BlockedEvents {
    aggregates: BTreeSet<Uuid>,
    /// Events that no checkpoint has stored yet.
    new: Vec<NewRow>,
    looked_at: Instant,
    /// The topics that could not be used. True: the first blocked event was released since, and not refused again.
    unusable_topics: BTreeMap<String, bool>,
    /// The topics with partitions without a leader, as far as this relay has noticed them.
    leaderless: Vec<TopicState>,
    asked_at: Instant,
    topic_interval: Duration,
}

#[derive(Insertable)]
#[diesel(table_name = outbox_blocked)]
struct NewRow {
    id: i64,
    aggregate_id: Uuid,
    error: Option<String>,
    unusable_topic: Option<String>,
}

#[derive(QueryableByName)]
struct TakenRow {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = diesel::sql_types::Uuid)]
    aggregate_id: Uuid,
}

impl BlockedEvents {
    /// Loads the table. Events for partitions without a leader are refused here, so that they do not wait in the producer.
    pub(super) async fn load(database: &Database, leaderless: Vec<TopicState>) -> database::Result<Self> {
        let aggregates = outbox_blocked::table.select(outbox_blocked::aggregate_id).distinct();
        let topics =
            outbox_blocked::table.select(outbox_blocked::unusable_topic.assume_not_null()).distinct();
        let topics = topics.filter(outbox_blocked::unusable_topic.is_not_null());
        let mut connection = database.connection().await?;
        let aggregates: Vec<Uuid> = aggregates.load(&mut connection).await?;
        let topics: Vec<String> = topics.load(&mut connection).await?;
        let topics = topics.into_iter().chain(leaderless.iter().map(|topic| topic.name.clone()));
        let unusable_topics = topics.map(|topic| (topic, false)).collect();
        let (aggregates, new, now) = (aggregates.into_iter().collect(), Vec::new(), Instant::now());
        let (looked_at, asked_at, topic_interval) = (now, now, TOPIC_INTERVAL);
        Ok(Self { aggregates, new, looked_at, unusable_topics, leaderless, asked_at, topic_interval })
    }

    /// Returns whether these are the partitions without a leader that the relay has noticed.
    pub(super) fn knows(&self, leaderless: &[TopicState]) -> bool {
        let partitions = |topic: &TopicState| (topic.name.clone(), topic.leaderless.clone());
        self.leaderless.iter().map(partitions).eq(leaderless.iter().map(partitions))
    }

    /// Returns the refusal of a record that goes to a partition without a leader.
    pub(super) fn refuses(&self, record: &Record<'_>) -> Option<Refusal> {
        let mut leaderless = self.leaderless.iter();
        let topic =
            leaderless.find(|topic| topic.name == record.topic && !topic.has_leader_for(record.key))?;
        let reason = "its partition has no leader".to_owned();
        Some(Refusal { reason, unusable_topic: Some(topic.name.clone()) })
    }

    /// Returns whether an event of this aggregate must wait behind a blocked one.
    pub(super) fn contains(&self, aggregate: Uuid) -> bool {
        self.aggregates.contains(&aggregate)
    }

    /// Adds an event, with the refusal if it was refused itself.
    pub(super) fn add(&mut self, id: i64, aggregate_id: Uuid, refusal: Option<Refusal>) {
        let (error, unusable_topic) = refusal.map_or((None, None), |Refusal { reason: error, unusable_topic }| {
            match &unusable_topic {
                None => {
                    tracing::error!(id, aggregate = %aggregate_id, %error, "EventBlocked: remove the cause, then run `outbox release`");
                }
                Some(topic) => tracing::warn!(id, aggregate = %aggregate_id, %error, topic, "EventBlocked: until the topic can be used"),
            }
            (Some(error), unusable_topic)
        });
        self.aggregates.insert(aggregate_id);
        if let Some(topic) = unusable_topic.clone()
            && self.unusable_topics.insert(topic, false) == Some(true)
        {
            self.topic_interval = (self.topic_interval * 2).min(LONGEST_TOPIC_INTERVAL);
        }
        self.new.push(NewRow { id, aggregate_id, error, unusable_topic });
    }

    /// Releases the first event of each topic that exists and has leaders, and the others after the first one was not refused again.
    pub(super) async fn release_usable_topics(
        &mut self,
        database: &Database,
        brokers: &Brokers,
    ) -> database::Result<()> {
        let is_due = self.asked_at.elapsed() >= self.topic_interval;
        if !is_due || self.unusable_topics.is_empty() || !self.new.is_empty() {
            return Ok(());
        }
        let topics: Vec<String> = self.unusable_topics.keys().cloned().collect();
        // Without an answer the relay asks again later.
        let found = topics::describe(brokers, &topics).await.unwrap_or_default();
        for TopicState { name: topic, .. } in found.into_iter().filter(TopicState::has_leaders) {
            let mut connection = database.connection().await?;
            let of_topic = outbox_blocked::unusable_topic.eq(&topic);
            let ids = outbox_blocked::table.select(min(outbox_blocked::id)).filter(of_topic);
            let first: Option<i64> = ids.get_result(&mut connection).await?;
            let is_usable = first.is_none() || self.unusable_topics.get(&topic) == Some(&true);
            let last = first.filter(|_| !is_usable).unwrap_or(i64::MAX);
            let released = diesel::update(outbox_blocked::table)
                .filter(of_topic.and(outbox_blocked::id.le(last)))
                .set(outbox_blocked::released_at.eq(clock_timestamp().nullable()))
                .execute(&mut connection)
                .await?;
            self.leaderless.retain(|leaderless| leaderless.name != topic);
            if is_usable {
                tracing::warn!(topic, released, "EventsReleased: the topic can be used");
                self.unusable_topics.remove(&topic);
                self.topic_interval = TOPIC_INTERVAL;
            } else {
                self.unusable_topics.insert(topic, true);
            }
        }
        self.asked_at = Instant::now();
        Ok(())
    }

    /// Returns whether the new events must be stored now, because a statement has a limited number of parameters.
    pub(super) fn are_many(&self) -> bool {
        self.new.len() >= EVENTS_PER_SAVE
    }

    /// Stores the new events. Call [`saved`](Self::saved) after COMMIT; until then they are kept here.
    pub(super) async fn save(&self, tx: &mut Tx) -> database::Result<()> {
        if self.new.is_empty() {
            return Ok(());
        }
        // The row exists if the event was read again, by the next term or after the relay started over. It keeps its cause.
        let store = diesel::insert_into(outbox_blocked::table).values(&self.new);
        store.on_conflict_do_nothing().execute(tx).await?;
        Ok(())
    }

    /// Forgets the stored events.
    pub(super) fn saved(&mut self) {
        self.new.clear();
    }

    /// Returns whether something is blocked, and the last look for released events was long ago.
    pub(super) fn is_look_due(&self) -> bool {
        !self.aggregates.is_empty() && self.looked_at.elapsed() >= LOOK_INTERVAL
    }

    /// Takes out the next released aggregates with all their events, also those that were blocked after the release. Returns the
    /// events' ids: the caller reads these events again. The table must have all events of these aggregates.
    pub(super) async fn take_released(&mut self, tx: &mut Tx) -> database::Result<Vec<i64>> {
        let taken: Vec<TakenRow> = sql_query(include_str!("take_released.sql")).get_results(tx).await?;
        if taken.is_empty() {
            self.looked_at = Instant::now();
        }
        for row in &taken {
            self.aggregates.remove(&row.aggregate_id);
        }
        Ok(taken.into_iter().map(|row| row.id).collect())
    }
}
