//! The rows of messages that wait: held until the missing one of their aggregate arrives, or parked until an operator
//! decides.

use database::Tx;
use database::functions::clock_timestamp;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use crate::incoming::{Entry, Incoming, Origin, storable};
use crate::stored::Stored;
use crate::{HandlerError, dead_letter};

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
}

impl<'a> NewRow<'a> {
    fn of(consumer: &'a str, entry: &'a Entry, origin: &'a Origin, payload: &'a [u8]) -> Self {
        let headers =
            origin.headers.iter().map(|(name, value)| Value::from_iter([name.as_str(), value.as_str()]));
        Self {
            consumer,
            message_id: entry.id,
            source: &entry.line.source,
            aggregate_id: entry.line.aggregate,
            sequence: entry.sequence,
            state: HELD,
            topic: &origin.topic,
            partition: origin.partition,
            record_offset: origin.offset,
            headers: headers.collect(),
            payload,
            error: None,
        }
    }
}

/// Keeps a message that came too early.
pub(crate) async fn hold(tx: &mut Tx, consumer: &str, incoming: &Incoming) -> database::Result<()> {
    let entry = incoming.entry();
    let row = NewRow::of(consumer, &entry, &incoming.origin, &incoming.payload);
    diesel::insert_into(inbox_parked::table).values(row).execute(tx).await?;
    Ok(())
}

/// Puts a message aside, with the error that nobody could get past, and tells of it.
pub(crate) async fn park(
    tx: &mut Tx,
    consumer: &'static str,
    entry: &Entry,
    origin: &Origin,
    payload: &[u8],
    failure: &HandlerError,
) -> database::Result<()> {
    let error = storable(&failure.to_string());
    let row =
        NewRow { state: PARKED, error: Some(error.clone()), ..NewRow::of(consumer, entry, origin, payload) };
    diesel::insert_into(inbox_parked::table).values(row).execute(tx).await?;
    dead_letter::tell(tx, consumer, entry, origin, payload, &error);
    Ok(())
}

/// The same for a message that is here already, held. `false` if it is not, or no longer.
pub(crate) async fn park_held(
    tx: &mut Tx,
    consumer: &'static str,
    held: &Entry,
    failure: &HandlerError,
) -> database::Result<bool> {
    let row = inbox_parked::table.find((consumer, held.id)).filter(inbox_parked::state.eq(HELD));
    let error = storable(&failure.to_string());
    let parked: Option<Stored> = diesel::update(row)
        .set((
            inbox_parked::state.eq(PARKED),
            inbox_parked::error.eq(&error),
            inbox_parked::parked_at.eq(clock_timestamp()),
        ))
        .returning(Stored::as_returning())
        .get_result(tx)
        .await
        .optional()?;
    let Some(Stored { about, payload }) = parked else { return Ok(false) };
    dead_letter::tell(tx, consumer, held, &about.origin(), &payload, &error);
    Ok(true)
}

/// Removes messages that wait no longer.
pub(crate) async fn remove(tx: &mut Tx, consumer: &str, ids: &[Uuid]) -> database::Result<()> {
    let rows = inbox_parked::table
        .filter(inbox_parked::consumer.eq(consumer))
        .filter(inbox_parked::message_id.eq_any(ids));
    diesel::delete(rows).execute(tx).await?;
    Ok(())
}
