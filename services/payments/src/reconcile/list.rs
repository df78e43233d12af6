//! Reads the processor's list of one kind of objects, page by page.

use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::domain::{AttemptOutcome, CallKind};
use crate::processor::{Object, Page, Processor};

/// Why records were not compared.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error("the processor's list was not read: {0}")]
    Processor(AttemptOutcome),
    /// The list does not end, because its pages repeat objects.
    #[error("the processor's list was not read: it contains {0} twice")]
    Repeated(String),
    #[error("the processor is not configured")]
    NoProcessor,
}

/// The processor's objects of one kind that were created since a time, newest first.
pub(super) struct ProcessorList<'a> {
    processor: &'a Processor,
    kind: CallKind,
    since: DateTime<Utc>,
    cursor: Option<String>,
    pages: usize,
    /// Brent's cycle detection: the first object of page 1, 2, 4, 8, … If a later page has it, the list repeats itself.
    met: Option<String>,
}

impl<'a> ProcessorList<'a> {
    pub(super) fn new(processor: &'a Processor, kind: CallKind, since: DateTime<Utc>) -> Self {
        Self { processor, kind, since, cursor: None, pages: 0, met: None }
    }

    /// The last page was read.
    pub(super) fn has_ended(&self) -> bool {
        self.pages > 0 && self.cursor.is_none()
    }

    /// Reads the next page. After the last one, every page is empty.
    pub(super) async fn next_page(&mut self) -> Result<Vec<Object>, ReconcileError> {
        if self.has_ended() {
            return Ok(Vec::new());
        }
        let page = self.processor.list(self.kind, self.since, self.cursor.as_deref()).await;
        let Page { items, next } = page.map_err(ReconcileError::Processor)?;
        if let Some(repeated) = items.iter().find(|item| Some(&item.id) == self.met.as_ref()) {
            return Err(ReconcileError::Repeated(repeated.id.clone()));
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            self.met = items.first().map(|item| item.id.clone());
        }
        self.cursor = next;
        Ok(items)
    }
}
