//! Records the id of every message that a consumer has received, so that a repeated delivery has no effect.
//!
//! What goes wrong without it: Kafka delivers a message again after each rebalance, and the relay publishes it again after each
//! crash. Stock would be reserved twice for one order. Kafka's offset cannot prevent that, because it is stored in another system
//! than the effect, before or after it.

use std::collections::HashSet;
use std::mem::take;

use database::{Buffered, InsertRows, Rows, Tx, UnitOfWork, WithRows, Write};
use diesel::dsl::now;
use diesel::prelude::*;
use diesel::sql_types::{Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::HandlerError;
use crate::message::InboxEntry;

diesel::table! {
    inbox_message (consumer, message_id) {
        consumer -> Text,
        message_id -> Uuid,
        source -> Text,
        aggregate_id -> Uuid,
        sequence -> BigInt,
        processed_at -> Timestamptz,
    }
}

/// Returns the ids of those messages that were received before. Call it after [`Sequences::lock`](crate::sequence::Sequences::lock):
/// it must see what the previous holder of the locks has committed.
///
/// A message that waits in `inbox_parked` is known, even if its id was deleted with age: it must not wait twice, and an
/// operator decides about it.
pub(crate) async fn known(
    mut tx: &Tx,
    consumer: &str,
    entries: &[InboxEntry],
) -> database::Result<HashSet<Uuid>> {
    let rows = Rows::default()
        .column::<Text, _>("consumer", entries.iter().map(|_| consumer.to_owned()))
        .column::<SqlUuid, _>("message_id", entries.iter().map(|entry| entry.id));
    // The subqueries for each id make the plan independent of the number of stored messages.
    let known = WithRows::<SqlUuid>::new(
        "SELECT given.message_id FROM ",
        rows,
        " WHERE coalesce((SELECT true FROM inbox_message message WHERE message.consumer = given.consumer \
                                                                AND message.message_id = given.message_id), \
                         (SELECT true FROM inbox_parked waiting WHERE waiting.consumer = given.consumer \
                                                               AND waiting.message_id = given.message_id), false)",
    );
    let known: Vec<Uuid> = known.get_results(&mut tx).await?;
    Ok(known.into_iter().collect())
}

/// Records that the consumer has received a new message.
pub(crate) fn record(tx: &mut Tx, consumer: &str, entry: InboxEntry) {
    tx.buffer(Received { consumer: consumer.to_owned(), entry });
}

/// A received message, not written yet.
struct Received {
    consumer: String,
    entry: InboxEntry,
}

impl Buffered for Received {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(inbox_message::table, rows)
            .column(inbox_message::consumer, |row| take(&mut row.consumer))
            .column(inbox_message::message_id, |row| row.entry.id)
            .column(inbox_message::source, |row| take(&mut row.entry.aggregate.source))
            .column(inbox_message::aggregate_id, |row| row.entry.aggregate.id)
            .column(inbox_message::sequence, |row| row.entry.sequence)
            .all(inbox_message::processed_at, now.into_sql::<Timestamptz>()); // before all effects of the transaction
        vec![Write::new(insert)]
    }
}

/// Replaces the entry of a message whose sequence was unknown until an operator named it.
pub(crate) async fn replace(tx: &mut Tx, consumer: &str, entry: &InboxEntry) -> database::Result<()> {
    diesel::delete(inbox_message::table.find((consumer, entry.id))).execute(tx).await?;
    let row = (
        inbox_message::consumer.eq(consumer),
        inbox_message::message_id.eq(entry.id),
        inbox_message::source.eq(&entry.aggregate.source),
        inbox_message::aggregate_id.eq(entry.aggregate.id),
        inbox_message::sequence.eq(entry.sequence),
    );
    diesel::insert_into(inbox_message::table).values(row).execute(tx).await?;
    Ok(())
}

/// Fails if another message has the number of one of these, which have new ids and are not next in their aggregates. The sender
/// has then written a second history, and its message must not vanish. Otherwise a repeated message is ignored: it was applied, and
/// its id was deleted with age.
pub(crate) async fn refuse_second_history(
    tx: &mut Tx,
    consumer: &str,
    repeated: &[InboxEntry],
    held: &[InboxEntry],
) -> Result<(), HandlerError> {
    if !repeated.is_empty() || !held.is_empty() {
        tx.flush().await?; // the other message may be in the same batch
    }
    for entry in repeated.iter().chain(held) {
        if let Some(other) = other_with_number(tx, consumer, entry).await? {
            return Err(HandlerError::SecondHistory(other));
        }
    }
    for InboxEntry { id, sequence, .. } in repeated {
        tracing::info!(consumer, message_id = %id, sequence, "DuplicateIgnored");
    }
    Ok(())
}

/// The first message that the consumer received under the number of this one, other than this one.
async fn other_with_number(
    tx: &mut Tx,
    consumer: &str,
    entry: &InboxEntry,
) -> database::Result<Option<Uuid>> {
    let same_number = inbox_message::table
        .filter(inbox_message::aggregate_id.eq(entry.aggregate.id))
        .filter(inbox_message::sequence.eq(entry.sequence))
        .filter(inbox_message::source.eq(&entry.aggregate.source))
        .filter(inbox_message::consumer.eq(consumer))
        .filter(inbox_message::message_id.ne(entry.id))
        .order(inbox_message::processed_at);
    Ok(same_number.select(inbox_message::message_id).first(tx).await.optional()?)
}
