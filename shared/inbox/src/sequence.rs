//! The last applied sequence of each aggregate. It keeps messages in order, and finds duplicates whose ids were deleted.
//!
//! What goes wrong without it: after a retry, a redrive or a new number of partitions, an order's cancellation is applied before
//! its payment request. The cancellation finds no payment to stop, and the request then charges a cancelled order.
//!
//! Every transaction that applies, parks, redrives or discards locks these rows first, in one sorted order.

use std::collections::BTreeMap;
use std::mem::take;

use database::{Buffered, Rows, Tx, UnitOfWork, UpdateRows, WithRows, Write};
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use futures_util::try_join;
use uuid::Uuid;

use crate::message::AggregateRef;

diesel::table! {
    inbox_sequence (consumer, source, aggregate_id) {
        consumer -> Text,
        source -> Text,
        aggregate_id -> Uuid,
        last_sequence -> BigInt,
    }
}

/// Where a message is in the history of its aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SequencePosition {
    /// It was applied before, even if its id is no longer stored.
    Duplicate,
    /// It follows the last applied message.
    Next,
    /// A message before it is missing.
    Later,
}

/// The last sequences of some aggregates. Their rows are locked until the transaction ends.
pub(crate) struct Sequences {
    consumer: String,
    last: BTreeMap<AggregateRef, i64>,
    moved: BTreeMap<AggregateRef, i64>,
}

impl Sequences {
    /// Locks the rows of these aggregates and inserts missing ones.
    pub(crate) async fn lock(
        tx: &Tx,
        consumer: &str,
        aggregates: impl IntoIterator<Item = AggregateRef>,
    ) -> database::Result<Self> {
        let last: BTreeMap<AggregateRef, i64> =
            aggregates.into_iter().map(|aggregate| (aggregate, 0)).collect();
        let mut sequences = Self { consumer: consumer.to_owned(), last, moved: BTreeMap::new() };
        if sequences.last.is_empty() {
            return Ok(sequences);
        }
        // PostgreSQL locks the row that is there before it looks at WHERE, and changes nothing. The rows are sorted, as the map is, so
        // two batches cannot deadlock.
        let lock = WithRows::<()>::new(
            "INSERT INTO inbox_sequence AS s (consumer, source, aggregate_id, last_sequence) SELECT given.* FROM ",
            sequences.rows(&sequences.last),
            " ON CONFLICT (consumer, source, aggregate_id) DO UPDATE SET last_sequence = s.last_sequence WHERE false",
        );
        // A statement of its own, because it must see what the previous holder of the lock has committed.
        let read = WithRows::<(Text, SqlUuid, BigInt)>::new(
            "SELECT s.source, s.aggregate_id, s.last_sequence FROM inbox_sequence s \
             WHERE (s.consumer, s.source, s.aggregate_id) IN \
             (SELECT given.consumer, given.source, given.aggregate_id FROM ",
            sequences.rows(&sequences.last),
            ")",
        );
        let (mut one, mut other) = (tx, tx); // in one round trip
        let (_, locked): (usize, Vec<(String, Uuid, i64)>) =
            try_join!(lock.execute(&mut one), read.get_results(&mut other))?;
        for (source, id, last) in locked {
            sequences.last.insert(AggregateRef { source, id }, last);
        }
        Ok(sequences)
    }

    /// The last applied sequence of a locked aggregate; 0 if no message was applied.
    pub(crate) fn last(&self, aggregate: &AggregateRef) -> i64 {
        self.last.get(aggregate).copied().unwrap_or(0)
    }

    pub(crate) fn position(&self, aggregate: &AggregateRef, sequence: i64) -> SequencePosition {
        match sequence - self.last(aggregate) {
            ..=0 => SequencePosition::Duplicate,
            1 => SequencePosition::Next,
            _ => SequencePosition::Later,
        }
    }

    pub(crate) fn advance(&mut self, aggregate: &AggregateRef, sequence: i64) {
        self.last.insert(aggregate.clone(), sequence);
        self.moved.insert(aggregate.clone(), sequence);
    }

    /// Stores the sequences that have advanced. The transaction writes them with its buffered rows.
    pub(crate) fn store(self, tx: &mut Tx) {
        for (aggregate, sequence) in self.moved {
            tx.buffer(Advanced { consumer: self.consumer.clone(), aggregate, sequence });
        }
    }

    fn rows(&self, sequences: &BTreeMap<AggregateRef, i64>) -> Rows {
        let consumers = sequences.keys().map(|_| self.consumer.clone());
        Rows::default()
            .column::<Text, _>("consumer", consumers)
            .column::<Text, _>("source", sequences.keys().map(|aggregate| aggregate.source.clone()))
            .column::<SqlUuid, _>("aggregate_id", sequences.keys().map(|aggregate| aggregate.id))
            .column::<BigInt, _>("last_sequence", sequences.values().copied())
    }
}

/// A locked sequence that has advanced, not written yet.
struct Advanced {
    consumer: String,
    aggregate: AggregateRef,
    sequence: i64,
}

impl Buffered for Advanced {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(inbox_sequence::table, rows)
            .key(inbox_sequence::consumer, |row| take(&mut row.consumer))
            .key(inbox_sequence::source, |row| take(&mut row.aggregate.source))
            .key(inbox_sequence::aggregate_id, |row| row.aggregate.id)
            .column(inbox_sequence::last_sequence, |row| row.sequence);
        vec![Write::new(update)]
    }
}
