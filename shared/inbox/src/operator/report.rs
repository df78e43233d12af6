//! The report of a redrive for each aggregate, as JSON and as text.

use std::fmt::Write;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::table::printable;
use crate::HandlerError;
use crate::message::AggregateRef;
use crate::parking::WaitingRow;

/// The report of one command.
#[derive(Serialize)]
pub(super) struct RedriveReport {
    pub(super) dry_run: bool,
    pub(super) aggregates: Vec<RedrivenAggregate>,
}

/// The result for the waiting messages of one aggregate.
#[derive(Serialize)]
pub(super) struct RedrivenAggregate {
    source: String,
    aggregate_id: Uuid,
    /// In the order in which they took effect.
    pub(super) applied: Vec<MessageSummary>,
    /// Removed without effect, because a projection has applied a newer one.
    pub(super) superseded: Vec<MessageSummary>,
    /// Still parked, with the reason.
    pub(super) left: Vec<MessageError>,
    /// Why nothing of this aggregate was changed.
    failed: Option<MessageError>,
}

/// One message, as reports name it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct MessageSummary {
    message_id: Uuid,
    sequence: i64,
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// An error, and the message that caused it, if one did.
#[derive(Debug)]
pub(super) struct MessageError {
    pub(super) message: Option<MessageSummary>,
    pub(super) error: HandlerError,
}

impl Serialize for MessageError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("MessageError", 2)?;
        members.serialize_field("message", &self.message)?;
        members.serialize_field("error", &self.error.to_string())?;
        members.end()
    }
}

impl<E: Into<HandlerError>> From<E> for MessageError {
    fn from(error: E) -> Self {
        Self { message: None, error: error.into() }
    }
}

impl MessageSummary {
    pub(super) fn of(row: &WaitingRow) -> Self {
        Self { message_id: row.message_id, sequence: row.sequence, kind: row.kind() }
    }

    pub(super) fn with(self, error: HandlerError) -> MessageError {
        MessageError { message: Some(self), error }
    }

    pub(super) fn text(&self) -> String {
        let Self { message_id, sequence, kind } = self;
        let kind = printable(kind.as_deref().unwrap_or("of unknown type"));
        format!("{message_id}, number {sequence}, {kind}")
    }
}

impl MessageError {
    pub(super) fn text(&self) -> String {
        let error = printable(&self.error.to_string());
        self.message.as_ref().map_or(error.clone(), |message| format!("{}: {error}", message.text()))
    }
}

impl RedrivenAggregate {
    pub(super) fn of(aggregate: &AggregateRef) -> Self {
        Self {
            source: aggregate.source.clone(),
            aggregate_id: aggregate.id,
            applied: Vec::new(),
            superseded: Vec::new(),
            left: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn failed(aggregate: &AggregateRef, error: MessageError) -> Self {
        Self { failed: Some(error), ..Self::of(aggregate) }
    }

    /// Whether there is nothing to report: its messages are held, and wait for a missing one.
    pub(super) fn is_empty(&self) -> bool {
        self.applied.is_empty() && self.superseded.is_empty() && self.left.is_empty() && self.failed.is_none()
    }

    fn text(&self, dry_run: bool, text: &mut String) {
        let _ = writeln!(text, "{} {}", printable(&self.source), self.aggregate_id);
        if let Some(failed) = &self.failed {
            let _ = writeln!(text, "  failed: {}", failed.text());
            let _ = writeln!(text, "  nothing of this aggregate was changed");
        }
        let (applied, removed) =
            if dry_run { ("would apply", "would remove") } else { ("applied", "removed") };
        for message in &self.applied {
            let _ = writeln!(text, "  {applied}: {}", message.text());
        }
        for message in &self.superseded {
            let reason = "a newer message was applied";
            let _ = writeln!(text, "  {removed}: {}: {reason}", message.text());
        }
        for left in &self.left {
            let _ = writeln!(text, "  still parked: {}", left.text());
        }
    }
}

impl RedriveReport {
    pub(super) fn is_done(&self) -> bool {
        self.aggregates.iter().all(|aggregate| aggregate.failed.is_none() && aggregate.left.is_empty())
    }

    pub(super) fn text(&self) -> String {
        if self.aggregates.is_empty() {
            return "no such message is parked: nothing to redrive\n".to_owned();
        }
        let mut text = String::new();
        for aggregate in &self.aggregates {
            aggregate.text(self.dry_run, &mut text);
        }
        if self.dry_run {
            text.push_str("this was a dry run: nothing was changed\n");
        }
        text
    }
}
