//! Reads the records to compare: first the processor's lists to their last page, then our tables.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use database::Database;
use thiserror::Error;
use uuid::Uuid;

use crate::domain::reconciliation::{MoneyState, OurRecord, ProcessorRecord};
use crate::domain::{AttemptOutcome, CallKind};
use crate::processor::{Listed, MAX_CLOCK_SKEW, Page, Processor};
use crate::store::reconciliation::{self, RecordFilter};

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

/// Reads the processor's objects that were created at `since` or later.
pub(super) async fn processor_records(
    processor: &Processor,
    deployment: &str,
    since: DateTime<Utc>,
) -> Result<Vec<ProcessorRecord>, ReconcileError> {
    let (mut records, mut seen) = (Vec::new(), HashSet::new());
    let created_since = since - MAX_CLOCK_SKEW;
    for kind in [CallKind::Charge, CallKind::Refund] {
        let mut cursor = None;
        loop {
            let page = match kind {
                CallKind::Charge => processor.payment_intents(created_since, cursor.as_deref()).await,
                CallKind::Refund => processor.refunds(created_since, cursor.as_deref()).await,
            };
            let Page { items, next } = page.map_err(ReconcileError::Processor)?;
            for listed in items {
                if !seen.insert(listed.id.clone()) {
                    return Err(ReconcileError::Repeated(listed.id));
                }
                records.push(record(kind, listed, deployment));
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
    }
    Ok(records)
}

/// Reads our records of the same period, and those that the processor's records refer to. `opened` is the time before
/// the processor's lists were read.
pub(super) async fn our_records(
    database: &Database,
    theirs: &[ProcessorRecord],
    since: DateTime<Utc>,
    opened: DateTime<Utc>,
) -> database::Result<Vec<OurRecord>> {
    let references: Vec<Uuid> = theirs.iter().filter_map(|record| record.reference).collect();
    // A refund refers to its charge, which may be older than the period.
    let objects = theirs.iter().flat_map(|record| [Some(&record.id), record.payment_intent.as_ref()]);
    let objects: Vec<String> = objects.flatten().cloned().collect();
    let filter = RecordFilter { since, until: opened, references: &references, objects: &objects };
    let mut connection = database.connection().await?;
    let mut records = reconciliation::charges(&mut connection, &filter).await?;
    records.extend(reconciliation::refunds(&mut connection, &filter).await?);
    Ok(records)
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
