//! `parked`: which messages wait, since when, why, and what waits behind them.

use std::collections::BTreeMap;

use clap::Args;
use database::time::to_rfc3339;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use super::table::{shown, table};
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::incoming::{Line, Origin, UNKNOWN};
use crate::park::inbox_parked;
use crate::stored::About;

/// The arguments.
#[derive(Debug, Args)]
pub struct Parked {
    /// Only those of this aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    messages: Vec<Message>,
}

/// One message that waits, as machines read it.
#[derive(Serialize)]
pub(super) struct Message {
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
    /// How many of its aggregate are held behind it.
    held_behind: usize,
}

impl Message {
    pub(super) fn of(about: About, held_behind: usize) -> Self {
        let (Line { source, aggregate }, Origin { topic, partition, offset, .. }) =
            (about.line(), about.origin());
        Self {
            id: about.message_id,
            state: about.state(),
            kind: about.kind(),
            source,
            aggregate_id: aggregate,
            sequence: about.sequence,
            topic,
            partition,
            offset,
            error: about.error,
            since: to_rfc3339(about.parked_at),
            held_behind,
        }
    }

    /// As people read it: name and value.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let Self { topic, partition, offset, .. } = self;
        vec![
            ("message", self.id.to_string()),
            ("state", self.state.to_owned()),
            ("type", shown(self.kind.as_deref().unwrap_or("-"))),
            ("source", shown(&self.source)),
            ("aggregate", self.aggregate_id.to_string()),
            ("number", if self.sequence == UNKNOWN { "?".to_owned() } else { self.sequence.to_string() }),
            ("topic/partition/offset", format!("{topic}/{partition}/{offset}")),
            ("since", self.since.clone()),
            ("held behind", self.held_behind.to_string()),
            ("error", shown(self.error.as_deref().unwrap_or("-"))),
        ]
    }
}

impl Parked {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut waiting = inbox_parked::table
            .filter(inbox_parked::consumer.eq(context.consumer.name()))
            .order((inbox_parked::source, inbox_parked::aggregate_id, inbox_parked::sequence))
            .select(About::as_select())
            .into_boxed();
        if let Some(aggregate) = self.aggregate {
            waiting = waiting.filter(inbox_parked::aggregate_id.eq(aggregate));
        }
        let rows: Vec<About> = waiting.load(&mut context.database.connection().await?).await?;
        let report = Report { messages: with_followers(rows) };
        Ok(CommandOutput::new(self.json, true, &report, |report| {
            if report.messages.is_empty() {
                return "no message waits\n".to_owned();
            }
            let facts: Vec<_> = report.messages.iter().map(Message::facts).collect();
            let heading: Vec<&str> = facts.iter().take(1).flatten().map(|(name, _)| *name).collect();
            let rows = facts.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect());
            table(&heading, &rows.collect::<Vec<Vec<String>>>())
        }))
    }
}

/// Counts, for each message, those of its aggregate that are held behind it. The rows are in order.
pub(super) fn with_followers(rows: Vec<About>) -> Vec<Message> {
    let mut held: BTreeMap<Line, usize> = BTreeMap::new();
    let mut messages: Vec<Message> = Vec::with_capacity(rows.len());
    for about in rows.into_iter().rev() {
        let behind = held.entry(about.line()).or_default();
        let followers = *behind;
        *behind += usize::from(!about.is_parked());
        messages.push(Message::of(about, followers));
    }
    messages.reverse();
    messages
}
