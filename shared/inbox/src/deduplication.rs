//! Records the id of every message that a consumer has received, so that a repeated delivery has no effect.

use std::collections::HashSet;

use database::{Rows, Tx};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::HandlerError;
use crate::message::InboxEntry;
use crate::statement::WithRows;

diesel::table! {
    inbox_message (consumer, message_id) {
        consumer -> Text,
        message_id -> Uuid,
        source -> Text,
        aggregate_id -> Uuid,
        sequence -> BigInt,
    }
}

/// Inserts the messages and returns the ids that are new.
///
/// A message that waits in `inbox_parked` is not new, even if its id was deleted with age: it must not wait twice, and an
/// operator decides about it. The subquery for each id makes the plan independent of the number of waiting messages.
pub(crate) async fn insert_new(
    tx: &mut Tx,
    consumer: &str,
    entries: &[InboxEntry],
) -> database::Result<HashSet<Uuid>> {
    if cfg!(feature = "mutant-no-inbox") {
        return Ok(entries.iter().map(|entry| entry.id).collect()); // every message counts as new
    }
    // Sorted, because two batches with the same messages must wait for each other instead of deadlocking.
    let mut entries: Vec<&InboxEntry> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.id);
    let rows = Rows::default()
        .column::<Text, _>("consumer", entries.iter().map(|_| consumer.to_owned()))
        .column::<SqlUuid, _>("message_id", entries.iter().map(|entry| entry.id))
        .column::<Text, _>("source", entries.iter().map(|entry| entry.aggregate.source.clone()))
        .column::<SqlUuid, _>("aggregate_id", entries.iter().map(|entry| entry.aggregate.id))
        .column::<BigInt, _>("sequence", entries.iter().map(|entry| entry.sequence));
    let insert = WithRows::<SqlUuid>::new(
        "INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence) SELECT given.* FROM ",
        rows,
        " WHERE (SELECT waiting.state FROM inbox_parked waiting WHERE waiting.consumer = given.consumer \
                                                   AND waiting.message_id = given.message_id) IS NULL \
         ON CONFLICT DO NOTHING RETURNING message_id",
    );
    let new: Vec<Uuid> = insert.get_results(tx).await?;
    Ok(new.into_iter().collect())
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

/// Ignores messages with new ids and with numbers that were applied before: their ids were deleted with age. Fails if
/// another message has the number. The sender has then written a second history, and its message must not vanish.
pub(crate) async fn ignore_repeated(
    tx: &mut Tx,
    consumer: &str,
    entries: &[InboxEntry],
) -> Result<(), HandlerError> {
    for entry in entries {
        let same_number = inbox_message::table
            .filter(inbox_message::aggregate_id.eq(entry.aggregate.id))
            .filter(inbox_message::sequence.eq(entry.sequence))
            .filter(inbox_message::source.eq(&entry.aggregate.source))
            .filter(inbox_message::consumer.eq(consumer))
            .filter(inbox_message::message_id.ne(entry.id));
        let other = same_number.select(inbox_message::message_id).first(tx).await.optional()?;
        if let Some(other) = other {
            return Err(HandlerError::SecondHistory(other));
        }
        tracing::info!(consumer, message_id = %entry.id, sequence = entry.sequence, "DuplicateIgnored");
    }
    Ok(())
}
