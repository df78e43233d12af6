//! What a redrive has done, aggregate by aggregate: for people and for machines.

use std::fmt::Write;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use super::table::shown;
use crate::HandlerError;
use crate::incoming::{Entry, Line};

/// All that one command did.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) dry_run: bool,
    pub(super) aggregates: Vec<Redriven>,
}

/// What became of one aggregate's waiting messages.
#[derive(Serialize)]
pub(super) struct Redriven {
    source: String,
    aggregate_id: Uuid,
    /// In the order of their effects.
    pub(super) applied: Vec<Step>,
    /// Removed without effect: another message has had their place.
    pub(super) superseded: Vec<Step>,
    /// Parked as before, and why.
    pub(super) left: Vec<Failed>,
    /// Why nothing of this aggregate was changed.
    failed: Option<Failed>,
}

/// One message.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Step {
    pub(super) message_id: Uuid,
    pub(super) sequence: i64,
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// A message, if it was one, and what was wrong.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) message: Option<Step>,
    pub(super) failure: HandlerError,
}

impl Serialize for Failed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Failed", 2)?;
        members.serialize_field("message", &self.message)?;
        members.serialize_field("error", &self.failure.to_string())?;
        members.end()
    }
}

impl<F: Into<HandlerError>> From<F> for Failed {
    fn from(failure: F) -> Self {
        Self { message: None, failure: failure.into() }
    }
}

impl Step {
    pub(super) fn of(entry: &Entry, kind: Option<&str>) -> Self {
        Self { message_id: entry.id, sequence: entry.sequence, kind: kind.map(str::to_owned) }
    }

    pub(super) fn text(&self) -> String {
        let Self { message_id, sequence, kind } = self;
        format!("{message_id}, number {sequence}, {}", shown(kind.as_deref().unwrap_or("of unknown type")))
    }
}

impl Failed {
    pub(super) fn text(&self) -> String {
        let error = shown(&self.failure.to_string());
        self.message.as_ref().map_or(error.clone(), |message| format!("{}: {error}", message.text()))
    }
}

impl Redriven {
    pub(super) fn of(line: &Line) -> Self {
        Self {
            source: line.source.clone(),
            aggregate_id: line.aggregate,
            applied: Vec::new(),
            superseded: Vec::new(),
            left: Vec::new(),
            failed: None,
        }
    }

    pub(super) fn failed(line: &Line, failed: Failed) -> Self {
        Self { failed: Some(failed), ..Self::of(line) }
    }

    pub(super) fn changed_nothing(&self) -> bool {
        self.applied.is_empty() && self.superseded.is_empty()
    }

    fn text(&self, dry_run: bool, text: &mut String) {
        let _ = writeln!(text, "{} {}", shown(&self.source), self.aggregate_id);
        if let Some(failed) = &self.failed {
            let _ = writeln!(text, "  failed: {}", failed.text());
            let _ = writeln!(text, "  nothing of this aggregate was changed");
        }
        let (applies, removes) =
            if dry_run { ("would apply", "would remove") } else { ("applied", "removed") };
        for step in &self.applied {
            let _ = writeln!(text, "  {applies}: {}", step.text());
        }
        for step in &self.superseded {
            let _ = writeln!(text, "  {removes}: {}: another message has had its place", step.text());
        }
        for failed in &self.left {
            let _ = writeln!(text, "  still parked: {}", failed.text());
        }
    }
}

impl Report {
    pub(super) fn is_done(&self) -> bool {
        self.aggregates.iter().all(|aggregate| aggregate.failed.is_none() && aggregate.left.is_empty())
    }

    pub(super) fn text(&self) -> String {
        if self.aggregates.is_empty() {
            return "nothing is parked there: nothing to redrive\n".to_owned();
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
