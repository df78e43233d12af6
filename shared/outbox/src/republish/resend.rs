//! Sends published rows to Kafka again, directly and not by the relay: the relay's cursor has passed these rows.

use std::collections::BTreeSet;
use std::time::Duration;

use envelope::Topics;
use messaging::{Brokers, DeliveryReports, PublishError, Publisher, PublisherSettings, admin, health};
use tokio::time::Instant;

use super::RepublishError;
use super::published_rows::PublishedRows;
use crate::outbox_event::StoredEvent;
use crate::outgoing_record::OutgoingRecord;

/// The number of rows that are loaded at a time: at most 25 MiB of payload.
const ROWS_PER_READ: usize = 100;

/// How long Kafka may take to answer the health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

/// How long Kafka may acknowledge no message before the command fails. The operator may repeat the command.
const REPORT_TIMEOUT: Duration = Duration::from_mins(1);

/// The time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A publisher that counts its messages.
pub(super) struct Resender {
    brokers: Brokers,
    topics: Topics,
    publisher: Publisher,
    reports: DeliveryReports,
    /// Topics that exist.
    known_topics: BTreeSet<String>,
    messages: usize,
    sent: usize,
    acknowledged: usize,
}

impl Resender {
    /// Connects to Kafka, and fails if no broker answers.
    pub(super) async fn connect(
        brokers: &Brokers,
        topics: &Topics,
        messages: usize,
    ) -> Result<Self, RepublishError> {
        health(brokers, HEALTH_TIMEOUT).await?;
        // The command waits for all messages and for no single one, so larger batches make it faster.
        let settings = PublisherSettings {
            name: "idem-republish".to_owned(),
            linger: Duration::from_millis(5),
            ..PublisherSettings::default()
        };
        let (publisher, reports) = Publisher::connect(brokers, settings)?;
        let (brokers, topics, known_topics) = (brokers.clone(), topics.clone(), BTreeSet::new());
        Ok(Self { brokers, topics, publisher, reports, known_topics, messages, sent: 0, acknowledged: 0 })
    }

    /// Sends all rows, and returns once Kafka has acknowledged every message.
    pub(super) async fn send_all(
        mut self,
        rows: &PublishedRows,
        mut progress: impl FnMut(usize),
    ) -> Result<(), RepublishError> {
        let sent = self.send_and_wait(rows, &mut progress).await;
        sent.map_err(|reason| RepublishError::Incomplete {
            acknowledged: self.acknowledged,
            messages: self.messages,
            reason: reason.to_string(),
        })
    }

    async fn send_and_wait(
        &mut self,
        rows: &PublishedRows,
        progress: &mut impl FnMut(usize),
    ) -> Result<(), BoxError> {
        let mut reported_at = Instant::now();
        for position in rows.read_positions() {
            for ids in rows.ids_after(position).await?.chunks(ROWS_PER_READ) {
                for row in rows.load(ids).await? {
                    self.send(&row).await?;
                }
                if reported_at.elapsed() >= PROGRESS_INTERVAL {
                    reported_at = Instant::now();
                    progress(self.acknowledged);
                }
            }
        }
        while self.acknowledged < self.sent {
            self.wait_for_report().await?;
        }
        Ok(())
    }

    async fn send(&mut self, row: &StoredEvent) -> Result<(), BoxError> {
        let outgoing =
            OutgoingRecord::new(row, &self.topics).map_err(|error| format!("row {}: {error}", row.id))?;
        if !self.known_topics.contains(&outgoing.topic) {
            // Otherwise the client waits 30 s for a missing topic, and its error does not name the topic.
            admin::end_offsets(&self.brokers, &outgoing.topic).await?;
            self.known_topics.insert(outgoing.topic.clone());
        }
        let headers = outgoing.headers();
        loop {
            match self.publisher.publish(outgoing.record(&headers), row.id.cast_unsigned()) {
                Ok(()) => break,
                Err(PublishError::Full) => self.wait_for_report().await?,
                Err(error) => return Err(format!("row {}: {error}", row.id).into()),
            }
        }
        self.sent += 1;
        Ok(())
    }

    /// Waits for one delivery report.
    async fn wait_for_report(&mut self) -> Result<(), BoxError> {
        let timed_out =
            |_| format!("Kafka at {} has acknowledged no message for {REPORT_TIMEOUT:?}", self.brokers);
        let report = tokio::time::timeout(REPORT_TIMEOUT, self.reports.next()).await.map_err(timed_out)?;
        report.ok_or("the producer has ended")?.result?;
        self.acknowledged += 1;
        Ok(())
    }
}
