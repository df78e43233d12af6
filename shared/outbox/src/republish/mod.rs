//! `Republish`: publishes events again that the relay has published, with the same key, headers and bytes, ordered by id.
//!
//! Consumers ignore messages that they have had. A consumer that never had them, for instance because a topic was lost, gets
//! them now. A run may be repeated; one that was not needed only costs work.

mod published_rows;
mod resend;

use chrono::{DateTime, Utc};
use database::Database;
use envelope::{TenantId, Topics};
use messaging::Brokers;
use serde::Serialize;
use thiserror::Error;

use crate::session_lock::SessionLock;
use published_rows::PublishedRows;
pub use published_rows::{FirstRow, PublishedEvents};
use resend::Resender;

/// The republication failed.
#[derive(Debug, Error)]
pub enum RepublishError {
    /// The database did not answer, or refused.
    #[error(transparent)]
    Database(#[from] database::Error),
    /// Kafka did not answer. No message was published.
    #[error("no message was published again: {0}")]
    Kafka(#[from] messaging::Error),
    /// The tenant of the first selected row is invalid. No message was published.
    #[error("no message was published again: row {id} of the outbox is invalid: {reason}")]
    InvalidRow {
        /// The row's id.
        id: i64,
        /// The invalid value.
        reason: envelope::InvalidName,
    },
    /// Publishing stopped before the last message.
    #[error(
        "stopped after {acknowledged} of {messages} messages: {reason}; remove the cause and run the command again: \
         it starts from the beginning, and consumers ignore duplicates"
    )]
    Incomplete {
        /// The number of messages that Kafka acknowledged.
        acknowledged: usize,
        /// The number of selected messages.
        messages: usize,
        /// The error that stopped the run.
        reason: String,
    },
}

/// The selected events, before they are published. Retention drops no event while this value lives.
pub struct Republish {
    rows: PublishedRows,
    /// The events to publish.
    pub plan: RepublishPlan,
    /// The time of the first row of the outbox.
    pub rows_since: Option<DateTime<Utc>>,
    _kept_rows: SessionLock,
}

/// The events to publish. Rows are never changed and the cursor is read once, so the later reads find the same rows.
#[derive(Debug, Serialize)]
pub struct RepublishPlan {
    /// Their number.
    pub messages: usize,
    /// The first one.
    pub first: Option<FirstRow>,
    /// The id of the last one.
    pub last_id: Option<i64>,
}

impl Republish {
    /// Finds the events. Only reads.
    ///
    /// # Errors
    /// Database errors.
    pub async fn find(database: &Database, events: PublishedEvents) -> database::Result<Self> {
        let kept_rows = SessionLock::keep_rows(database).await?;
        let rows = PublishedRows::find(database, events).await?;
        let plan = RepublishPlan::make(&rows).await?;
        Ok(Self { plan, rows_since: rows.oldest, rows, _kept_rows: kept_rows })
    }

    /// The tenant of the events. Events since a time may belong to several, so the result is `None` for them.
    ///
    /// # Errors
    /// The tenant of the first row is invalid.
    pub fn tenant(&self) -> Result<Option<TenantId>, RepublishError> {
        let (PublishedEvents::Aggregate(_), Some(first)) = (self.rows.events, &self.plan.first) else {
            return Ok(None);
        };
        let tenant = first.tenant_id.parse();
        Ok(Some(tenant.map_err(|reason| RepublishError::InvalidRow { id: first.id, reason })?))
    }

    /// Connects to Kafka, calls `begin`, publishes the events, and returns once Kafka has acknowledged each. `begin` commits the
    /// audit fact: otherwise a run that is killed would leave none. `progress` gets the number of acknowledged events every few
    /// seconds.
    ///
    /// # Errors
    /// No broker answers, `begin` fails, or publishing stops before the last event.
    pub async fn send<E: From<RepublishError>>(
        &self,
        brokers: &Brokers,
        topics: &Topics,
        begin: impl AsyncFnOnce() -> Result<(), E>,
        progress: impl FnMut(usize),
    ) -> Result<(), E> {
        let resender = Resender::connect(brokers, topics, self.plan.messages).await?;
        begin().await?;
        Ok(resender.send_all(&self.rows, progress).await?)
    }
}

impl RepublishPlan {
    async fn make(rows: &PublishedRows) -> database::Result<Self> {
        let (mut messages, mut first, mut last_id) = (0, None, None);
        for position in rows.read_positions() {
            let ids = rows.ids_after(position).await?;
            messages += ids.len();
            first = first.or(ids.first().copied());
            last_id = ids.last().copied().or(last_id);
        }
        let first = match first {
            Some(id) => rows.find_first(id).await?,
            None => None,
        };
        Ok(Self { messages, first, last_id })
    }
}
