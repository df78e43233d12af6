//! Reads the two books: the processor's, page by page to the end, and then ours.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use database::Database;
use thiserror::Error;
use uuid::Uuid;

use super::books::{Entry, Kind, Row};
use crate::domain::Outcome;
use crate::processor::{Page, Processor, SKEW};
use crate::store::reconciliation::{self, Wanted};

/// Why the books were not compared. Nothing was changed by it.
#[derive(Debug, Error)]
pub(crate) enum Unread {
    /// Ours cannot be read.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// The processor's cannot be read.
    #[error("the processor's list was not read: {0}")]
    Processor(Outcome),
    /// They name an object again that stood on an earlier page: read like this, they have no end.
    #[error("the processor's list was not read: {0} stands in it twice")]
    Repeated(String),
    /// There is no processor to ask.
    #[error("the processor is not configured")]
    NoProcessor,
}

/// What was read.
pub(super) struct Gathered {
    pub(super) entries: Vec<Entry>,
    pub(super) rows: Vec<Row>,
}

/// Reads both books since then; `opened` is the moment at which this begins.
pub(super) async fn gather(
    database: &Database,
    processor: &Processor,
    deployment: &str,
    since: DateTime<Utc>,
    opened: DateTime<Utc>,
) -> Result<Gathered, Unread> {
    let (mut entries, mut seen) = (Vec::new(), HashSet::new());
    for kind in [Kind::Charge, Kind::Refund] {
        let mut cursor = None;
        loop {
            let listed_since = since - SKEW;
            let page = match kind {
                Kind::Charge => processor.payment_intents(listed_since, cursor.as_deref()).await,
                Kind::Refund => processor.refunds(listed_since, cursor.as_deref()).await,
            };
            let Page { items, next } = page.map_err(Unread::Processor)?;
            for listed in items {
                if !seen.insert(listed.id.clone()) {
                    return Err(Unread::Repeated(listed.id));
                }
                entries.push(Entry::of(kind, listed, deployment));
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
    }
    let rows = rows(database, &entries, since, opened).await?;
    Ok(Gathered { entries, rows })
}

async fn rows(
    database: &Database,
    entries: &[Entry],
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> database::Result<Vec<Row>> {
    let references: Vec<Uuid> = entries.iter().filter_map(|entry| entry.reference).collect();
    // A refund leads to the charge that it gives back, which may be older than the window.
    let objects = entries.iter().flat_map(|entry| [Some(&entry.id), entry.parent.as_ref()]);
    let objects: Vec<String> = objects.flatten().cloned().collect();
    let wanted = Wanted { since, until, references: &references, objects: &objects };
    let mut connection = database.connection().await?;
    let mut rows = reconciliation::charges(&mut connection, &wanted).await?;
    rows.extend(reconciliation::refunds(&mut connection, &wanted).await?);
    Ok(rows)
}
