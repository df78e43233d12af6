//! `show`: prints one waiting message with its headers and payload.

use std::fmt::Write;

use clap::Args;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use super::parked::{ListedMessage, with_followers};
use super::table::{printable, table};
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::parking::text::{base64, sha256};
use crate::parking::{WaitingMessage, WaitingRow, inbox_parked};
use crate::sequence;

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The id of the waiting message
    message_id: Uuid,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    message: ListedMessage,
    /// The sequence of the aggregate's next message.
    next_sequence: i64,
    headers: Vec<(String, String)>,
    payload_bytes: usize,
    payload_sha256: String,
    /// The payload, if it is UTF-8.
    payload_text: Option<String>,
    /// The payload, if it is not UTF-8.
    payload_base64: Option<String>,
}

impl Show {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut connection = context.database.connection().await?;
        let consumer = context.consumer.name();
        let row = inbox_parked::table.find((consumer, self.message_id));
        let found = row.select(WaitingMessage::as_select()).first(&mut connection).await.optional()?;
        let Some(WaitingMessage { row: found, payload }) = found else {
            let text = format!("message {} does not wait\n", self.message_id);
            return Ok(CommandOutput { text, done: false });
        };
        let aggregate = found.aggregate();
        let history: Vec<WaitingRow> = inbox_parked::table
            .filter(inbox_parked::consumer.eq(consumer))
            .filter(inbox_parked::source.eq(&aggregate.source))
            .filter(inbox_parked::aggregate_id.eq(aggregate.id))
            .order((inbox_parked::sequence, inbox_parked::record_offset))
            .select(WaitingRow::as_select())
            .load(&mut connection)
            .await?;
        let last = sequence::last(&mut connection, consumer, &aggregate).await?;
        let headers = found.origin().headers;
        let mut messages = with_followers(history).into_iter();
        let message = messages.find(|message| message.id == self.message_id);
        let report = Report {
            message: message.unwrap_or_else(|| ListedMessage::of(found, 0)),
            next_sequence: last + 1,
            headers,
            payload_bytes: payload.len(),
            payload_sha256: sha256(&payload),
            payload_base64: std::str::from_utf8(&payload).is_err().then(|| base64(&payload)),
            payload_text: String::from_utf8(payload).ok(),
        };
        Ok(CommandOutput::new(self.json, true, &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        let mut rows = self.message.labelled();
        rows.push(("next number", self.next_sequence.to_string()));
        rows.push(("payload", format!("{} bytes, SHA-256 {}", self.payload_bytes, self.payload_sha256)));
        let rows: Vec<Vec<String>> =
            rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        let mut text = table(&[], &rows);
        text.push_str("headers\n");
        for (name, value) in &self.headers {
            let _ = writeln!(text, "  {}: {}", printable(name), printable(value));
        }
        let payload = match (&self.payload_text, &self.payload_base64) {
            (Some(payload), _) => payload.lines().map(printable).collect::<Vec<_>>().join("\n"),
            (None, Some(base64)) => format!("(not text; base64) {base64}"),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "\n{payload}");
        text
    }
}
