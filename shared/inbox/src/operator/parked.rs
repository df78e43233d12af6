//! `parked`: lists the waiting messages with their errors, and how many are held behind each.

use std::collections::BTreeMap;

use clap::Args;
use database::time::to_rfc3339;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use super::table::{printable, table};
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::message::{AggregateRef, RecordOrigin, UNKNOWN_SEQUENCE};
use crate::parking::{WaitingRow, inbox_parked};

/// The arguments.
#[derive(Debug, Args)]
pub struct Parked {
    /// Only messages of this aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    messages: Vec<ListedMessage>,
}

/// One waiting message.
#[derive(Serialize)]
pub(super) struct ListedMessage {
    #[serde(rename = "message_id")]
    pub(super) id: Uuid,
    state: &'static str,
    #[serde(rename = "type")]
    kind: Option<String>,
    source: String,
    aggregate_id: Uuid,
    sequence: i64,
    topic: String,
    partition: i32,
    offset: i64,
    error: Option<String>,
    since: String,
    /// How many messages of its aggregate are held behind it.
    held_behind: usize,
}

impl ListedMessage {
    pub(super) fn of(row: WaitingRow, held_behind: usize) -> Self {
        let AggregateRef { source, id: aggregate_id } = row.aggregate();
        let RecordOrigin { topic, partition, offset, .. } = row.origin();
        Self {
            id: row.message_id,
            state: row.state(),
            kind: row.kind(),
            source,
            aggregate_id,
            sequence: row.sequence,
            topic,
            partition,
            offset,
            error: row.error,
            since: to_rfc3339(row.parked_at),
            held_behind,
        }
    }

    /// Labels and values, for people.
    pub(super) fn labelled(&self) -> Vec<(&'static str, String)> {
        let Self { topic, partition, offset, .. } = self;
        vec![
            ("message", self.id.to_string()),
            ("state", self.state.to_owned()),
            ("type", printable(self.kind.as_deref().unwrap_or("-"))),
            ("source", printable(&self.source)),
            ("aggregate", self.aggregate_id.to_string()),
            (
                "number",
                if self.sequence == UNKNOWN_SEQUENCE { "?".to_owned() } else { self.sequence.to_string() },
            ),
            ("topic/partition/offset", format!("{topic}/{partition}/{offset}")),
            ("since", self.since.clone()),
            ("held behind", self.held_behind.to_string()),
            ("error", printable(self.error.as_deref().unwrap_or("-"))),
        ]
    }
}

impl Parked {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut waiting = inbox_parked::table
            .filter(inbox_parked::consumer.eq(context.consumer.name()))
            .order((
                inbox_parked::source,
                inbox_parked::aggregate_id,
                inbox_parked::sequence,
                inbox_parked::record_offset,
            ))
            .select(WaitingRow::as_select())
            .into_boxed();
        if let Some(aggregate) = self.aggregate {
            waiting = waiting.filter(inbox_parked::aggregate_id.eq(aggregate));
        }
        let rows: Vec<WaitingRow> = waiting.load(&mut context.database.connection().await?).await?;
        let report = Report { messages: with_followers(rows) };
        Ok(CommandOutput::new(self.json, true, &report, |report| {
            if report.messages.is_empty() {
                return "no message waits\n".to_owned();
            }
            let messages: Vec<_> = report.messages.iter().map(ListedMessage::labelled).collect();
            let heading: Vec<&str> = messages.iter().take(1).flatten().map(|(name, _)| *name).collect();
            let rows = messages.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
            table(&heading, &rows.collect::<Vec<Vec<String>>>())
        }))
    }
}

/// Counts the messages held behind each message. The rows are sorted by aggregate and sequence.
pub(super) fn with_followers(rows: Vec<WaitingRow>) -> Vec<ListedMessage> {
    let mut held: BTreeMap<AggregateRef, usize> = BTreeMap::new();
    let mut messages: Vec<ListedMessage> = Vec::with_capacity(rows.len());
    for row in rows.into_iter().rev() {
        let behind = held.entry(row.aggregate()).or_default();
        let followers = *behind;
        *behind += usize::from(!row.is_parked());
        messages.push(ListedMessage::of(row, followers));
    }
    messages.reverse();
    messages
}
