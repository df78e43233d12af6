//! Reads the messages about an order in one service: its own events in the outbox, and the entries of its inbox.

mod rows;
mod spans;

use std::collections::BTreeMap;

use audits::Database;
use chrono::{DateTime, Utc};
use diesel::sql_query;
use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use envelope::Topics;
use harness::{Result, Session};
use messaging::admin::partition_of;
use uuid::Uuid;

pub(crate) use rows::{EnteredRow, EventRow, RelayRow, WaitingRow};

use super::line::{FactLine, Step, short};

/// The positions of each message on its topic: partition and offset. A message that was sent again has several.
pub(crate) type Positions = BTreeMap<Uuid, Vec<(i32, i64)>>;

/// Outbox and inbox of one service, as far as they are about the order.
#[derive(Debug, Clone)]
pub(crate) struct Messages {
    pub(crate) database: Database,
    /// Its own events, in the order of their ids.
    pub(crate) events: Vec<EventRow>,
    pub(crate) entered: Vec<EnteredRow>,
    pub(crate) waiting: Vec<WaitingRow>,
    pub(crate) relay: Option<RelayRow>,
}

impl Messages {
    /// Reads what the service knows about these aggregates. `times` are those of its rows about them: the transaction of a row also
    /// writes the row's event.
    pub(crate) async fn read(
        session: &mut Session,
        database: Database,
        aggregates: &[Uuid],
        mut times: Vec<DateTime<Utc>>,
    ) -> Result<Self> {
        let consumer = database.name();
        let about = |query| sql_query(query).bind::<Array<SqlUuid>, _>(aggregates.to_vec());
        let entered: Vec<EnteredRow> =
            session.rows(about(EnteredRow::QUERY).bind::<Text, _>(consumer)).await?;
        let waiting: Vec<WaitingRow> =
            session.rows(about(WaitingRow::QUERY).bind::<Text, _>(consumer)).await?;
        times.extend(entered.iter().map(|row| row.processed_at));
        times.extend(waiting.iter().map(|row| row.parked_at));
        let (from, until) = spans::around(times);
        let events =
            about(EventRow::QUERY).bind::<Array<Timestamptz>, _>(from).bind::<Array<Timestamptz>, _>(until);
        let events = session.rows(events).await?;
        let relay = session.rows(sql_query(RelayRow::QUERY)).await?.pop();
        Ok(Self { database, events, entered, waiting, relay })
    }

    /// The lines. `kinds` names the types of the messages that other services have sent.
    pub(crate) fn lines(
        &self,
        kinds: &BTreeMap<Uuid, String>,
        topics: &Topics,
        positions: &Positions,
    ) -> Vec<FactLine> {
        let line = |at, step, text: String| FactLine::new(at, self.database, step, text);
        let waits = |row: &&EnteredRow| self.waiting.iter().all(|it| it.message_id != row.message_id);
        let entered = self.entered.iter().filter(waits).map(|row| {
            let EnteredRow { message_id, source, sequence, processed_at } = row;
            let name = kinds.get(message_id).map_or("message", |kind| short(kind));
            line(*processed_at, Step::Inbox, format!("{name} of {source} entered, sequence {sequence}"))
        });
        let waiting = self.waiting.iter().map(|row| {
            let WaitingRow { topic, partition, record_offset, state, sequence, parked_at, .. } = row;
            let error = row.error.as_deref().map(|error| format!(": {error}")).unwrap_or_default();
            let place = format!("{topic}/{partition} at offset {record_offset}");
            let text =
                format!("{} of {} {state}, sequence {sequence}, {place}{error}", row.name(), row.source);
            line(*parked_at, Step::Waiting, text)
        });
        let events = self.events.iter().map(|event| {
            let EventRow { id, sequence, kind, created_at, .. } = event;
            let place = event.place(topics, positions);
            let text =
                format!("{} id {id}, {kind}, sequence {sequence} → {place}, {}", short(kind), event.state());
            line(*created_at, Step::Outbox, text)
        });
        entered.chain(waiting).chain(events).collect()
    }
}

impl WaitingRow {
    /// The name of its type, and its id.
    pub(crate) fn name(&self) -> String {
        format!("{} (message {})", self.kind.as_deref().map_or("message", short), self.message_id)
    }
}

impl EventRow {
    /// The partition of its key, in a topic with the usual number of partitions.
    pub(crate) fn partition(&self) -> u32 {
        partition_of(self.partition_key.to_string().as_bytes(), Topics::PARTITIONS.unsigned_abs())
    }

    fn place(&self, topics: &Topics, positions: &Positions) -> String {
        let topic = topics.prefixed(&self.topic);
        match positions.get(&self.event_id).map(Vec::as_slice) {
            Some([(partition, offset), again @ ..]) => {
                let more =
                    if again.is_empty() { String::new() } else { format!(" and {} times more", again.len()) };
                format!("{topic}/{partition} at offset {offset}{more}")
            }
            _ => format!("{topic}/{}", self.partition()),
        }
    }

    fn state(&self) -> String {
        match &self.blocked_error {
            Some(error) => format!("blocked: {error}"),
            None if self.is_blocked => "blocked behind an earlier event".to_owned(),
            None if self.has_been_passed => "published".to_owned(),
            None => "not published".to_owned(),
        }
    }
}
