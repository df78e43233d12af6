//! Stores the messages that wait in `inbox_parked`: **held** until the missing message of their aggregate arrives, or
//! **parked** with an error until an operator decides.
//!
//! Parking appends a copy to the outbox, for the dead-letter topic.
//!
//! What goes wrong without it: one message that cannot be applied stops its partition, and with it every other order there. A
//! consumer that drops the message instead loses it, and applies later messages of the order to a state that they do not fit.

mod dead_letter;
pub(crate) mod held;
pub(crate) mod limit;
mod row;
pub(crate) mod text;

use database::Tx;
use database::functions::clock_timestamp;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use crate::HandlerError;
use crate::message::{InboxEntry, IncomingMessage, RecordOrigin, storable};
pub(crate) use row::{WaitingMessage, WaitingRow};

diesel::table! {
    inbox_parked (consumer, message_id) {
        consumer -> Text,
        message_id -> Uuid,
        source -> Text,
        aggregate_id -> Uuid,
        sequence -> BigInt,
        state -> Text,
        topic -> Text,
        partition -> Integer,
        record_offset -> BigInt,
        headers -> Jsonb,
        payload -> Binary,
        error -> Nullable<Text>,
        reason -> Nullable<Text>,
        parked_at -> Timestamptz,
    }
}

pub(crate) const HELD: &str = "held";
pub(crate) const PARKED: &str = "parked";

#[derive(Insertable)]
#[diesel(table_name = inbox_parked)]
struct NewRow<'a> {
    consumer: &'a str,
    message_id: Uuid,
    source: &'a str,
    aggregate_id: Uuid,
    sequence: i64,
    state: &'static str,
    topic: &'a str,
    partition: i32,
    record_offset: i64,
    headers: Value,
    payload: &'a [u8],
    error: Option<String>,
    reason: Option<&'static str>,
}

impl<'a> NewRow<'a> {
    fn held(consumer: &'a str, entry: &'a InboxEntry, origin: &'a RecordOrigin, payload: &'a [u8]) -> Self {
        let headers =
            origin.headers.iter().map(|(name, value)| Value::from_iter([name.as_str(), value.as_str()]));
        Self {
            consumer,
            message_id: entry.id,
            source: &entry.aggregate.source,
            aggregate_id: entry.aggregate.id,
            sequence: entry.sequence,
            state: HELD,
            topic: &origin.topic,
            partition: origin.partition,
            record_offset: origin.offset,
            headers: headers.collect(),
            payload,
            error: None,
            reason: None,
        }
    }
}

/// Stores a message that arrived before its turn.
pub(crate) async fn hold(tx: &mut Tx, consumer: &str, message: &IncomingMessage) -> database::Result<()> {
    let entry = message.entry();
    let row = NewRow::held(consumer, &entry, &message.origin, &message.payload);
    diesel::insert_into(inbox_parked::table).values(row).execute(tx).await?;
    Ok(())
}

/// Stores a received message that cannot be applied, with its error.
pub(crate) async fn park(
    tx: &mut Tx,
    consumer: &'static str,
    entry: &InboxEntry,
    origin: &RecordOrigin,
    payload: &[u8],
    error: &HandlerError,
) -> database::Result<()> {
    let (reason, error) = (error.reason(), storable(&error.to_string()));
    let row = NewRow {
        state: PARKED,
        error: Some(error.clone()),
        reason: Some(reason),
        ..NewRow::held(consumer, entry, origin, payload)
    };
    diesel::insert_into(inbox_parked::table).values(row).execute(tx).await?;
    dead_letter::append(tx, consumer, entry, origin, payload, &error);
    Ok(())
}

/// Parks a held message that cannot be applied. Returns `false` if it is no longer held.
pub(crate) async fn park_held(
    tx: &mut Tx,
    consumer: &'static str,
    held: &InboxEntry,
    error: &HandlerError,
) -> database::Result<bool> {
    let row = inbox_parked::table.find((consumer, held.id)).filter(inbox_parked::state.eq(HELD));
    let (reason, error) = (error.reason(), storable(&error.to_string()));
    let parked: Option<WaitingMessage> = diesel::update(row)
        .set((
            inbox_parked::state.eq(PARKED),
            inbox_parked::error.eq(&error),
            inbox_parked::reason.eq(reason),
            inbox_parked::parked_at.eq(clock_timestamp()),
        ))
        .returning(WaitingMessage::as_returning())
        .get_result(tx)
        .await
        .optional()?;
    let Some(WaitingMessage { row, payload }) = parked else { return Ok(false) };
    dead_letter::append(tx, consumer, held, &row.origin(), &payload, &error);
    Ok(true)
}

/// Deletes messages that no longer wait.
pub(crate) async fn remove(tx: &mut Tx, consumer: &str, ids: &[Uuid]) -> database::Result<()> {
    let rows = inbox_parked::table
        .filter(inbox_parked::consumer.eq(consumer))
        .filter(inbox_parked::message_id.eq_any(ids));
    diesel::delete(rows).execute(tx).await?;
    Ok(())
}
