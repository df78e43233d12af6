//! Reads the records to compare, page by page: first a page of the processor's list, then our records of its objects.

use chrono::{DateTime, Utc};
use database::Database;
use thiserror::Error;
use uuid::Uuid;

use crate::domain::reconciliation::{MoneyState, OurRecord, ProcessorRecord};
use crate::domain::{AttemptOutcome, CallKind};
use crate::processor::{Listed, Page, Processor};
use crate::store::reconciliation::{self, Period, SentPosition};

/// The number of our records that are read at a time.
const PAGE: i64 = 1_000;

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

/// The processor's objects of one kind that were created within a time.
pub(super) struct ProcessorList<'a> {
    processor: &'a Processor,
    deployment: &'a str,
    kind: CallKind,
    from: DateTime<Utc>,
    to: Option<DateTime<Utc>>,
    cursor: Option<String>,
    pages: usize,
    /// Brent's cycle detection: the first object of page 1, 2, 4, 8, … If a later page has it, the list repeats itself.
    met: Option<String>,
}

impl<'a> ProcessorList<'a> {
    pub(super) fn new(
        (processor, deployment): (&'a Processor, &'a str),
        kind: CallKind,
        from: DateTime<Utc>,
        to: Option<DateTime<Utc>>,
    ) -> Self {
        Self { processor, deployment, kind, from, to, cursor: None, pages: 0, met: None }
    }

    /// Reads the next page; `None` after the last one.
    pub(super) async fn next_page(&mut self) -> Result<Option<Vec<ProcessorRecord>>, ReconcileError> {
        if self.pages > 0 && self.cursor.is_none() {
            return Ok(None);
        }
        let page = self.processor.list(self.kind, self.from, self.to, self.cursor.as_deref()).await;
        let Page { items, next } = page.map_err(ReconcileError::Processor)?;
        if let Some(repeated) = items.iter().find(|item| Some(&item.id) == self.met.as_ref()) {
            return Err(ReconcileError::Repeated(repeated.id.clone()));
        }
        self.pages += 1;
        if self.pages.is_power_of_two() {
            self.met = items.first().map(|item| item.id.clone());
        }
        self.cursor = next;
        Ok(Some(items.into_iter().map(|listed| record(self.kind, listed, self.deployment)).collect()))
    }
}

/// Reads our records of a page of objects: those that the objects refer to, and those that know an object's id.
pub(super) async fn records_of_page(
    database: &Database,
    period: Period,
    kind: CallKind,
    theirs: &[ProcessorRecord],
) -> database::Result<Vec<OurRecord>> {
    let mut connection = database.connection().await?;
    let mut ids: Vec<Uuid> = theirs.iter().filter_map(|record| record.reference).collect();
    let objects: Vec<String> = theirs.iter().map(|record| record.id.clone()).collect();
    match kind {
        CallKind::Charge => {
            ids.extend(reconciliation::charges_of_objects(&mut connection, &objects).await?);
            reconciliation::charges(&mut connection, period, &ids).await
        }
        CallKind::Refund => {
            ids.extend(reconciliation::refunds_of_objects(&mut connection, &objects).await?);
            let mut records = reconciliation::refunds(&mut connection, period, &ids).await?;
            // A refund without our tag is ours if its charge is.
            let charges: Vec<String> =
                theirs.iter().filter_map(|record| record.payment_intent.clone()).collect();
            let charges = reconciliation::charges_of_objects(&mut connection, &charges).await?;
            records.extend(reconciliation::charges(&mut connection, period, &charges).await?);
            Ok(records)
        }
    }
}

/// Reads our next records that were sent before a time; `None` after the last one.
pub(super) async fn next_sent(
    database: &Database,
    period: Period,
    kind: CallKind,
    position: &mut SentPosition,
    before: DateTime<Utc>,
) -> database::Result<Option<Vec<OurRecord>>> {
    let mut connection = database.connection().await?;
    let sent = reconciliation::sent_positions(&mut connection, kind, *position, before, PAGE).await?;
    let Some(last) = sent.last() else { return Ok(None) };
    *position = *last;
    let ids: Vec<Uuid> = sent.iter().map(|position| position.id).collect();
    Ok(Some(match kind {
        CallKind::Charge => reconciliation::charges(&mut connection, period, &ids).await?,
        CallKind::Refund => reconciliation::refunds(&mut connection, period, &ids).await?,
    }))
}

fn record(kind: CallKind, listed: Listed, deployment: &str) -> ProcessorRecord {
    let is_tagged = listed.deployment.as_deref() == Some(deployment);
    // A tagged object with another reference than an id has no row here. It is an orphan.
    let reference = listed.reference.filter(|_| is_tagged).and_then(|text| text.parse().ok());
    let money = money_state(kind, &listed.status);
    let charged = listed.received.filter(|_| money == MoneyState::Moved);
    ProcessorRecord {
        kind,
        id: listed.id,
        is_tagged,
        reference,
        payment_intent: listed.payment_intent.filter(|_| kind == CallKind::Refund),
        amount: charged.unwrap_or(listed.amount),
        currency: listed.currency.to_ascii_uppercase(),
        money,
        created: listed.created,
    }
}

/// Reads a status of the processor. An unknown status is open.
fn money_state(kind: CallKind, status: &str) -> MoneyState {
    match (kind, status) {
        (CallKind::Charge | CallKind::Refund, "succeeded") => MoneyState::Moved,
        (CallKind::Charge, "canceled" | "requires_payment_method" | "requires_confirmation")
        | (CallKind::Refund, "canceled" | "failed") => MoneyState::NotMoved,
        (CallKind::Charge | CallKind::Refund, _) => MoneyState::Open,
    }
}
