//! The held messages that one transaction reads, adds and releases.

use std::collections::BTreeMap;

use database::{Rows, Tx, WithRows};
use diesel::Selectable;
use diesel::dsl::SqlTypeOf;
use diesel::pg::Pg;
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::WaitingMessage;
use crate::error::{BatchError, Cause};
use crate::message::{AggregateRef, InboxEntry, IncomingMessage};

/// Held messages by aggregate and sequence.
pub(crate) struct HeldMessages {
    messages: BTreeMap<(AggregateRef, i64), Held>,
    /// The stored messages that were released.
    released: Vec<Uuid>,
}

struct Held {
    message: IncomingMessage,
    is_stored: bool,
}

impl HeldMessages {
    /// Reads the held messages that follow these messages without a gap. Usually there are none. Call it after
    /// [`Sequences::lock`](crate::sequence::Sequences::lock).
    pub(crate) async fn following(
        mut tx: &Tx,
        consumer: &str,
        entries: &[InboxEntry],
    ) -> Result<Self, BatchError> {
        let mut held = Self { messages: BTreeMap::new(), released: Vec::new() };
        let mut stored: Vec<WaitingMessage> = followers(consumer, entries).get_results(&mut tx).await?;
        while !stored.is_empty() {
            let mut entries = Vec::with_capacity(stored.len());
            for stored in stored {
                let entry = stored.row.entry();
                // The stored message is parked itself, and not the new message before it.
                let cause = Cause::Held(entry.clone());
                let message =
                    stored.decode_headers().map_err(|error| BatchError { cause, ..error.into() })?;
                let key = (entry.aggregate.clone(), entry.sequence);
                held.messages.insert(key, Held { message, is_stored: true });
                entries.push(entry);
            }
            stored = followers(consumer, &entries).get_results(&mut tx).await?;
        }
        Ok(held)
    }

    /// Adds a message that arrived before its turn. Of two messages with the same sequence the first one counts: the batch fails
    /// ([`refuse_second_history`](crate::deduplication::refuse_second_history)), and the second one is parked.
    pub(crate) fn add(&mut self, message: IncomingMessage) {
        let InboxEntry { aggregate, sequence, .. } = message.entry();
        self.messages.entry((aggregate, sequence)).or_insert(Held { message, is_stored: false });
    }

    /// Releases the message with this sequence, if it is held.
    pub(crate) fn release(&mut self, aggregate: &AggregateRef, sequence: i64) -> Option<IncomingMessage> {
        let held = self.messages.remove(&(aggregate.clone(), sequence))?;
        if held.is_stored {
            self.released.push(held.message.envelope.id.uuid());
        }
        Some(held.message)
    }

    /// Inserts the added messages and deletes the released ones.
    pub(crate) async fn store(self, tx: &mut Tx, consumer: &str) -> database::Result<()> {
        if !self.released.is_empty() {
            super::remove(tx, consumer, &self.released).await?;
        }
        for held in self.messages.into_values().filter(|held| !held.is_stored) {
            super::hold(tx, consumer, &held.message).await?;
        }
        Ok(())
    }
}

/// The SQL types of a [`WaitingMessage`].
type WaitingColumns = SqlTypeOf<<WaitingMessage as Selectable<Pg>>::SelectExpression>;

/// Selects the held messages that directly follow these.
fn followers(consumer: &str, entries: &[InboxEntry]) -> WithRows<WaitingColumns> {
    let rows = Rows::default()
        .column::<Text, _>("consumer", entries.iter().map(|_| consumer.to_owned()))
        .column::<Text, _>("source", entries.iter().map(|entry| entry.aggregate.source.clone()))
        .column::<SqlUuid, _>("aggregate_id", entries.iter().map(|entry| entry.aggregate.id))
        .column::<BigInt, _>("sequence", entries.iter().map(|entry| entry.sequence.saturating_add(1)));
    WithRows::new(
        "SELECT message_id, source, aggregate_id, sequence, state, topic, partition, record_offset, headers, error, reason, payload \
           FROM inbox_parked WHERE state = 'held' \
         AND (consumer, source, aggregate_id, sequence) IN (SELECT given.* FROM ",
        rows,
        ") ORDER BY record_offset",
    )
}
