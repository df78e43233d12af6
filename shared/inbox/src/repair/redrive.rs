//! Redrive: applies parked messages, and the messages held behind them, in order.
//!
//! Each aggregate is one transaction. So a message that asks for a charge never takes effect before the message that
//! cancels it.

use database::{Connection, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::history::History;
use super::report::{MessageError, MessageSummary, Redriven};
use crate::message::{AggregateRef, UNKNOWN_SEQUENCE};
use crate::parking::{WaitingRow, inbox_parked};
use crate::sequence::SequencePosition;
use crate::{Consumer, HandlerError};

/// Which aggregates have waiting messages.
#[derive(Debug, Clone, Copy)]
pub enum Waiting {
    /// Every one.
    All,
    /// This one, of any source.
    Aggregate(Uuid),
    /// The one of this message.
    Message(Uuid),
}

/// Finds the aggregates of waiting messages, sorted.
///
/// # Errors
/// Database errors.
pub async fn waiting_aggregates(
    connection: &mut Connection,
    consumer: &Consumer,
    which: Waiting,
) -> database::Result<Vec<AggregateRef>> {
    let mut waiting = inbox_parked::table
        .filter(inbox_parked::consumer.eq(consumer.name()))
        .select((inbox_parked::source, inbox_parked::aggregate_id))
        .distinct()
        .order((inbox_parked::source, inbox_parked::aggregate_id))
        .into_boxed();
    match which {
        Waiting::All => {}
        Waiting::Aggregate(id) => waiting = waiting.filter(inbox_parked::aggregate_id.eq(id)),
        Waiting::Message(id) => waiting = waiting.filter(inbox_parked::message_id.eq(id)),
    }
    let found: Vec<(String, Uuid)> = waiting.load(connection).await?;
    Ok(found.into_iter().map(|(source, id)| AggregateRef { source, id }).collect())
}

/// Applies every message of the aggregate that can be applied. Roll back after an error: then none is applied.
///
/// # Errors
/// The error of a message, or of the database.
pub async fn redrive(
    tx: &mut Tx,
    consumer: &Consumer,
    aggregate: &AggregateRef,
) -> Result<Redriven, MessageError> {
    let mut history = History::open(tx, consumer, aggregate.clone()).await?;
    let mut redriven = apply_all(tx, &mut history).await?;
    redriven.is_changed = history.is_changed;
    redriven.tenant = history.waiting.iter().find_map(|message| message.row.tenant());
    history.store(tx).await?;
    Ok(redriven)
}

async fn apply_all(tx: &mut Tx, history: &mut History<'_>) -> Result<Redriven, MessageError> {
    let mut redriven = Redriven::of(&history.aggregate);
    for message in history.waiting.clone() {
        let row = &message.row;
        let summary = MessageSummary::of(row);
        if row.sequence == UNKNOWN_SEQUENCE {
            redriven.leave(row, "its headers name no sequence; discard it");
            continue;
        }
        match history.position(row) {
            SequencePosition::Next => {
                history.apply(tx, &message).await.map_err(|error| summary.clone().with(error))?;
                redriven.applied.push(summary);
            }
            SequencePosition::Duplicate if row.is_parked() => {
                redriven.leave(row, "another message has its number; compare both, then discard it");
            }
            SequencePosition::Duplicate => {
                history.remove(row);
                redriven.superseded.push(summary);
            }
            SequencePosition::Later => redriven.leave(row, &missing(history)),
        }
    }
    Ok(redriven)
}

/// Names the message that is missing before the waiting ones.
pub(super) fn missing(history: &History<'_>) -> String {
    format!("number {} of its aggregate has not arrived", history.next())
}

impl Redriven {
    /// Reports a parked message that stays parked. A held message needs no report: it waits for the missing one.
    fn leave(&mut self, row: &WaitingRow, reason: &str) {
        if row.is_parked() {
            self.left.push(MessageSummary::of(row).with(HandlerError::Refused(reason.to_owned())));
        }
    }
}
