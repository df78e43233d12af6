//! Discard: removes a parked message without effect, and applies the messages held behind it.
//!
//! The result warns of orders, reservations and payments that stay open because of it.

use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use uuid::Uuid;

use super::history::History;
use super::redrive::missing;
use super::report::{Discard, DiscardEffects, MessageError, MessageSummary};
use crate::consumer::DiscardedMessage;
use crate::message::{InboxEntry, UNKNOWN_SEQUENCE};
use crate::parking::text::sha256;
use crate::parking::{WaitingMessage, WaitingRow, inbox_parked};
use crate::sequence::SequencePosition;
use crate::{Consumer, deduplication, parking};

/// Discards a parked message. `sequence` is its number in the aggregate's history, if its headers name none. Roll back unless
/// the message is gone.
///
/// # Errors
/// The error of a message, or of the database.
pub async fn discard(
    tx: &mut Tx,
    consumer: &Consumer,
    message_id: Uuid,
    sequence: Option<i64>,
) -> Result<Discard, MessageError> {
    let row = inbox_parked::table.find((consumer.name(), message_id));
    let row: Option<WaitingRow> = row.select(WaitingRow::as_select()).first(tx).await.optional()?;
    let Some(row) = row else { return Ok(Discard::NotWaiting) };
    let mut history = History::open(tx, consumer, row.aggregate()).await?;
    // Read again, because the message may have been redriven before the lock was taken.
    let found = history.waiting.iter().find(|message| message.row.message_id == message_id).cloned();
    let Some(found) = found else { return Ok(Discard::NotWaiting) };
    let warning = match skip(tx, &mut history, &found.row, sequence).await? {
        Ok(warning) => warning,
        Err(refused) => return Ok(Discard::Refused(refused)),
    };
    let mut discarded = DiscardEffects {
        tenant: found.row.tenant(),
        message: described(consumer, &found),
        applied: Vec::new(),
        parked: None,
        warnings: warning.into_iter().collect(),
    };
    apply_held(tx, &mut history, &mut discarded).await?;
    history.store(tx).await?;
    discarded.warnings.extend(consumer.warnings(tx, &DiscardedMessage::of(&found.row)).await?);
    Ok(Discard::Done(discarded))
}

/// Advances the history past the message and returns a warning, if there is one; or the reason why it refuses to.
async fn skip(
    tx: &mut Tx,
    history: &mut History<'_>,
    row: &WaitingRow,
    given: Option<i64>,
) -> Result<Result<Option<String>, String>, MessageError> {
    let position = history.position(row);
    if !row.is_parked() && position != SequencePosition::Duplicate {
        return Ok(Err(format!("it is held, not parked: {}", missing(history))));
    }
    let mut warning = None;
    match (row.sequence, given) {
        (UNKNOWN_SEQUENCE, None) => {
            warning = Some(format!(
                "the headers of the message name no sequence, so the history does not advance: if it was number {next}, \
                 later messages are held for ever; then discard it with --sequence {next}",
                next = history.next()
            ));
        }
        (UNKNOWN_SEQUENCE, Some(sequence)) if sequence == history.next() => {
            let entry = InboxEntry { sequence, ..row.entry() };
            deduplication::replace(tx, history.consumer(), &entry).await?;
            history.skip_to(sequence);
        }
        (UNKNOWN_SEQUENCE, Some(_)) => {
            return Ok(Err(format!("the next number of its aggregate is {}", history.next())));
        }
        (sequence, Some(_)) => {
            return Ok(Err(format!("the headers of the message name number {sequence}")));
        }
        (_, None) if position == SequencePosition::Later => return Ok(Err(missing(history))),
        (sequence, None) if position == SequencePosition::Next => history.skip_to(sequence),
        // Another message has this sequence. This one keeps its id, without a place in the history.
        (_, None) => {
            let entry = InboxEntry { sequence: UNKNOWN_SEQUENCE, ..row.entry() };
            deduplication::replace(tx, history.consumer(), &entry).await?;
        }
    }
    history.remove(row);
    Ok(Ok(warning))
}

/// The message as its audit fact keeps it.
fn described(consumer: &Consumer, WaitingMessage { row, payload }: &WaitingMessage) -> Value {
    let (aggregate, origin) = (row.aggregate(), row.origin());
    json!({
        "consumer": consumer.name(),
        "source": aggregate.source,
        "aggregate_id": aggregate.id,
        "sequence": row.sequence,
        "type": row.kind(),
        "topic": origin.topic,
        "partition": origin.partition,
        "offset": origin.offset,
        "error": row.error,
        "payload_sha256": sha256(payload),
        "payload_bytes": payload.len(),
    })
}

/// Applies the messages held behind the discarded one, up to the first that fails. The failing message is parked.
async fn apply_held(
    tx: &mut Tx,
    history: &mut History<'_>,
    discarded: &mut DiscardEffects,
) -> Result<(), MessageError> {
    let held: Vec<WaitingMessage> =
        history.waiting.iter().filter(|message| !message.row.is_parked()).cloned().collect();
    for message in held {
        if history.position(&message.row) != SequencePosition::Next {
            continue;
        }
        let entry = message.row.entry();
        let summary = MessageSummary::of(&message.row);
        // If it fails, only its own effects are undone.
        match tx.savepoint(async |tx| history.apply(tx, &message).await).await {
            Ok(()) => discarded.applied.push(summary),
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                parking::park_held(tx, history.consumer(), &entry, &error).await?;
                discarded.parked = Some(summary.with(error));
                return Ok(());
            }
        }
    }
    Ok(())
}
