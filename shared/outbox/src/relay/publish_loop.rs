//! Publishes window after window during one term.
//!
//! Messages are sent in the order of their ids, without waiting for each delivery report. The cursor moves only over the
//! longest prefix of messages that are all acknowledged.

use std::collections::VecDeque;
use std::time::Duration;

use messaging::{DeliveryReport, DeliveryReports, PublishError, Publisher, PublisherSettings};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cursor::Cursor;
use super::{Relay, RelayError, RelaySettings, window};
use crate::COMMITTED;
use crate::outbox_event::{StoredEvent, load_events};
use crate::outgoing_record::OutgoingRecord;

/// The number of ids that are read at a time. A larger window is read in several parts.
const IDS_PER_READ: i64 = 50_000;

/// The first pause of an idle relay. The pause doubles up to the setting `idle_poll`.
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// How long a relay that stops waits for the delivery reports of messages under way.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct PublishLoop<'r> {
    relay: &'r Relay,
    epoch: i64,
    publisher: Publisher,
    reports: DeliveryReports,
    cursor: Cursor,
    /// The sent messages that the cursor has not passed, in the order of sending.
    in_flight: VecDeque<InFlight>,
    checkpointed_at: Instant,
    /// True if the cursor has moved since the last checkpoint.
    has_moved: bool,
}

struct InFlight {
    id: i64,
    acknowledged: bool,
}

impl<'r> PublishLoop<'r> {
    pub(super) async fn start(relay: &'r Relay, epoch: i64) -> Result<Self, RelayError> {
        let cursor = Cursor::load(&relay.database).await?;
        // Each term has its own producer. Otherwise messages that an earlier term queued could still be sent.
        let (publisher, reports) = Publisher::connect(&relay.brokers, PublisherSettings::default())?;
        let (in_flight, checkpointed_at) = (VecDeque::new(), Instant::now());
        Ok(Self { relay, epoch, publisher, reports, cursor, in_flight, checkpointed_at, has_moved: false })
    }

    /// Publishes until `stop` is cancelled. Then waits a short time for the messages under way and writes the cursor.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<(), RelayError> {
        let RelaySettings { gather, page, .. } = self.relay.settings;
        let mut pause = MIN_PAUSE;
        loop {
            let read_at = Instant::now();
            let Some(published) = stop.run_until_cancelled(self.publish_window()).await else { break };
            let published = published?;
            if published > 0 {
                pause = MIN_PAUSE;
            }
            if published < page {
                let waited = async {
                    tokio::time::sleep_until(read_at + gather).await;
                    self.wait_for_commit(pause).await
                };
                let Some(next_pause) = stop.run_until_cancelled(waited).await else { break };
                pause = next_pause;
            }
        }
        self.drain().await
    }

    /// Waits for a commit in this process, at most for `pause`. Returns the next pause.
    async fn wait_for_commit(&self, pause: Duration) -> Duration {
        let RelaySettings { idle_poll, checkpoint, .. } = self.relay.settings;
        let committed = self.relay.database.signal(COMMITTED);
        // The end of the next window writes the cursor, so a moved cursor shortens the pause to the next checkpoint.
        let limit =
            if self.has_moved { checkpoint.saturating_sub(self.checkpointed_at.elapsed()) } else { pause };
        tokio::select! {
            () = committed.notified() => MIN_PAUSE,
            () = tokio::time::sleep(pause.min(limit)) => (pause * 2).min(idle_poll),
        }
    }

    /// Publishes one window completely. Returns the number of its messages.
    async fn publish_window(&mut self) -> Result<usize, RelayError> {
        let database = &self.relay.database;
        // A window that was begun, perhaps by another relay, is finished with the same B. Later commits belong to the
        // next window.
        let b = match &self.cursor.snapshot_b {
            Some(b) => b.clone(),
            None => window::current_snapshot(database).await?,
        };
        let mut published = 0;
        let mut last = self.cursor.last_id;
        loop {
            let ids = window::read_ids(database, &self.cursor.snapshot_a, &b, last, IDS_PER_READ).await?;
            let Some(&end) = ids.last() else { break };
            crashpoint::reach!("relay.window_read");
            self.cursor.snapshot_b = Some(b.clone());
            for page in ids.chunks(self.relay.settings.page) {
                for row in load_events(database, page).await? {
                    self.send(&row).await?;
                    published += 1;
                }
                self.read_reports().await?;
            }
            last = end;
            // A window does not grow, so fewer ids than the limit are its last ones.
            if i64::try_from(ids.len()).is_ok_and(|read| read < IDS_PER_READ) {
                break;
            }
        }
        while !self.in_flight.is_empty() {
            self.wait_for_report().await?;
        }
        self.cursor = Cursor { snapshot_a: b, snapshot_b: None, last_id: 0 };
        if cfg!(feature = "mutant-id-only-cursor") {
            self.cursor.last_id = last; // skips a row that commits late with a smaller id
        }
        self.has_moved |= published > 0;
        // A full page is worth a checkpoint at once; a smaller window waits for the interval.
        let is_backlog = published >= self.relay.settings.page;
        if self.has_moved && (is_backlog || self.is_checkpoint_due()) {
            self.checkpoint().await?;
        }
        Ok(published)
    }

    async fn send(&mut self, row: &StoredEvent) -> Result<(), RelayError> {
        let outgoing = OutgoingRecord::new(row, &self.relay.topics)
            .map_err(|reason| RelayError::UnreadableRow { id: row.id, reason })?;
        let headers = outgoing.headers();
        let record = outgoing.record(&headers);
        loop {
            match self.publisher.publish(record, row.id.cast_unsigned()) {
                Ok(()) => break,
                // The queue is bounded; each report makes room for a record.
                Err(PublishError::Full) => self.wait_for_report().await?,
                Err(error) => return Err(error.into()),
            }
        }
        crashpoint::reach!("relay.message_sent");
        self.in_flight.push_back(InFlight { id: row.id, acknowledged: false });
        let OutgoingRecord { envelope, topic, .. } = &outgoing;
        tracing::info!(event_id = %envelope.id, kind = %envelope.kind, topic, "MessageRelayed");
        Ok(())
    }

    /// Waits for one delivery report.
    async fn wait_for_report(&mut self) -> Result<(), RelayError> {
        match self.reports.next().await {
            Some(report) => self.handle_report(report).await,
            None => Err(RelayError::ProducerEnded),
        }
    }

    /// Handles the delivery reports that have arrived, without waiting.
    async fn read_reports(&mut self) -> Result<(), RelayError> {
        while let Some(report) = self.reports.try_next() {
            self.handle_report(report).await?;
        }
        Ok(())
    }

    async fn handle_report(&mut self, report: DeliveryReport) -> Result<(), RelayError> {
        // An error ends the term, whether or not the message is in its topic. The next term sends again from the cursor.
        report.result?;
        let id = report.token.cast_signed();
        // Reports are in order for each partition, so the message is near the front.
        if let Some(message) = self.in_flight.iter_mut().find(|message| message.id == id) {
            message.acknowledged = true;
        }
        while let Some(&InFlight { id, acknowledged: true }) = self.in_flight.front() {
            self.in_flight.pop_front();
            self.cursor.last_id = id;
            self.has_moved = true;
        }
        if self.has_moved && self.is_checkpoint_due() {
            self.checkpoint().await?;
        }
        Ok(())
    }

    fn is_checkpoint_due(&self) -> bool {
        self.checkpointed_at.elapsed() >= self.relay.settings.checkpoint
    }

    async fn checkpoint(&mut self) -> Result<(), RelayError> {
        self.cursor.checkpoint(&self.relay.database, self.epoch).await?;
        crashpoint::reach!("relay.after_checkpoint");
        self.checkpointed_at = Instant::now();
        self.has_moved = false;
        Ok(())
    }

    async fn drain(mut self) -> Result<(), RelayError> {
        let drained = async {
            while !self.in_flight.is_empty() {
                self.wait_for_report().await?;
            }
            Ok::<(), RelayError>(())
        };
        // After the timeout the cursor is still written: it is before the messages without a report.
        if let Ok(drained) = tokio::time::timeout(DRAIN_TIMEOUT, drained).await {
            drained?;
        }
        self.checkpoint().await
    }
}

impl Drop for PublishLoop<'_> {
    fn drop(&mut self) {
        // The next relay sends these messages again. Otherwise this producer could still send them after it.
        self.publisher.purge();
    }
}
