//! One turn of publishing: windows in order, messages never awaited one by one, and a cursor that moves only over
//! what is acknowledged without a gap.

use std::collections::VecDeque;
use std::time::Duration;

use messaging::{Ack, Acks, PublishError, Publisher, PublisherSettings};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cursor::Cursor;
use super::{Fault, Relay, RelaySettings, window};
use crate::letter::Letter;
use crate::rows::StoredEvent;
use crate::{COMMITTED, rows};

/// Ids read at a time; a window larger than this is read in parts.
const IDS: i64 = 50_000;

/// The shortest pause of an idle relay; it doubles up to the setting.
const FIRST_POLL: Duration = Duration::from_millis(2);

/// How long a relay that is told to stop waits for what is on its way.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Publishing<'r> {
    relay: &'r Relay,
    epoch: i64,
    publisher: Publisher,
    acks: Acks,
    cursor: Cursor,
    /// What is on its way, in the order of sending: (id, acknowledged).
    sent: VecDeque<(i64, bool)>,
    written: Instant,
    dirty: bool,
}

impl<'r> Publishing<'r> {
    pub(super) async fn start(relay: &'r Relay, epoch: i64) -> Result<Self, Fault> {
        let cursor = Cursor::load(&relay.database).await?;
        // A producer of its own for each turn: what an earlier turn had queued died with it.
        let (publisher, acks) = Publisher::connect(&relay.brokers, PublisherSettings::default())?;
        let (sent, written) = (VecDeque::new(), Instant::now());
        Ok(Self { relay, epoch, publisher, acks, cursor, sent, written, dirty: false })
    }

    /// Publishes until told to stop; then waits a little for what is on its way and writes the cursor down.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<(), Fault> {
        let RelaySettings { gather, page, .. } = self.relay.settings;
        let mut pause = FIRST_POLL;
        loop {
            let looked = Instant::now();
            let Some(published) = stop.run_until_cancelled(self.window()).await else { break };
            let published = published?;
            if published > 0 {
                pause = FIRST_POLL;
            }
            if published < page {
                let next = async {
                    tokio::time::sleep_until(looked + gather).await;
                    self.woken(pause).await
                };
                let Some(next) = stop.run_until_cancelled(next).await else { break };
                pause = next;
            }
        }
        self.drain().await
    }

    /// Waits for a commit of this process, or for `pause`; returns how long to wait the next time.
    async fn woken(&self, pause: Duration) -> Duration {
        let RelaySettings { idle_poll, checkpoint, .. } = self.relay.settings;
        let signal = self.relay.database.signal(COMMITTED);
        // What is not written down yet is written with the next look.
        let written = if self.dirty { checkpoint.saturating_sub(self.written.elapsed()) } else { pause };
        tokio::select! {
            () = signal.notified() => FIRST_POLL,
            () = tokio::time::sleep(pause.min(written)) => (pause * 2).min(idle_poll),
        }
    }

    /// Publishes one window to its end; returns how many messages it held.
    async fn window(&mut self) -> Result<usize, Fault> {
        let database = &self.relay.database;
        // A window that was begun is finished, with the same B: what committed since belongs to the next one.
        let b = match &self.cursor.snapshot_b {
            Some(b) => b.clone(),
            None => window::snapshot(database).await?,
        };
        let mut published = 0;
        let mut last = self.cursor.last_id;
        loop {
            let ids = window::ids(database, &self.cursor.snapshot_a, &b, last, IDS).await?;
            let Some(&end) = ids.last() else { break };
            crashpoint::reach!("relay.window_read");
            self.cursor.snapshot_b = Some(b.clone());
            for page in ids.chunks(self.relay.settings.page) {
                for row in rows::by_ids(database, page).await? {
                    self.send(&row).await?;
                    published += 1;
                }
                self.take_acks().await?;
            }
            last = end;
            // All that B sees had committed before it was read: fewer than asked for are the rest.
            if i64::try_from(ids.len()).is_ok_and(|read| read < IDS) {
                break;
            }
        }
        while !self.sent.is_empty() {
            self.next_ack().await?;
        }
        self.cursor = Cursor { snapshot_a: b, snapshot_b: None, last_id: 0 };
        if cfg!(feature = "mutant-id-only-cursor") {
            self.cursor.last_id = last; // what commits late with a smaller id is never seen
        }
        self.dirty |= published > 0;
        // So much is worth a commit of its own.
        let backlog = published >= self.relay.settings.page;
        if self.dirty && (backlog || self.written.elapsed() >= self.relay.settings.checkpoint) {
            self.checkpoint().await?;
        }
        Ok(published)
    }

    async fn send(&mut self, row: &StoredEvent) -> Result<(), Fault> {
        let unpublishable = |why: String| Fault::Unpublishable { id: row.id, why };
        let letter = Letter::of(row, &self.relay.topics).map_err(|error| unpublishable(error.to_string()))?;
        let headers = letter.headers();
        let record = letter.record(&headers);
        let token = u64::try_from(row.id).map_err(|e| unpublishable(e.to_string()))?;
        loop {
            match self.publisher.publish(record, token) {
                Ok(()) => break,
                // The queue is bounded: the way forward is to let something arrive.
                Err(PublishError::Full) => self.next_ack().await?,
                Err(error) => return Err(error.into()),
            }
        }
        crashpoint::reach!("relay.message_sent");
        self.sent.push_back((row.id, false));
        let Letter { envelope, topic, .. } = &letter;
        tracing::info!(event_id = %envelope.id, kind = %envelope.kind, topic, "MessageRelayed");
        Ok(())
    }

    /// Waits for one acknowledgement.
    async fn next_ack(&mut self) -> Result<(), Fault> {
        match self.acks.next().await {
            Some(ack) => self.acknowledge(ack).await,
            None => Err(Fault::ProducerGone),
        }
    }

    /// Takes what has been acknowledged so far, without waiting.
    async fn take_acks(&mut self) -> Result<(), Fault> {
        while let Some(ack) = self.acks.try_next() {
            self.acknowledge(ack).await?;
        }
        Ok(())
    }

    async fn acknowledge(&mut self, ack: Ack) -> Result<(), Fault> {
        // Whatever the error, the message may be in the log: this turn ends, and the next sends from the cursor on.
        ack.result?;
        let id = i64::try_from(ack.token).unwrap_or_default();
        // Acknowledgements are in order for each partition, so the one looked for stands near the front.
        if let Some(entry) = self.sent.iter_mut().find(|(sent, _)| *sent == id) {
            entry.1 = true;
        }
        while let Some(&(id, true)) = self.sent.front() {
            self.sent.pop_front();
            self.cursor.last_id = id;
            self.dirty = true;
        }
        if self.dirty && self.written.elapsed() >= self.relay.settings.checkpoint {
            self.checkpoint().await?;
        }
        Ok(())
    }

    async fn checkpoint(&mut self) -> Result<(), Fault> {
        self.cursor.checkpoint(&self.relay.database, self.epoch).await?;
        crashpoint::reach!("relay.after_checkpoint");
        self.written = Instant::now();
        self.dirty = false;
        Ok(())
    }

    async fn drain(mut self) -> Result<(), Fault> {
        let arrive = async {
            while !self.sent.is_empty() {
                self.next_ack().await?;
            }
            Ok::<(), Fault>(())
        };
        if let Ok(done) = tokio::time::timeout(DRAIN, arrive).await {
            done?;
        }
        self.checkpoint().await
    }
}

impl Drop for Publishing<'_> {
    fn drop(&mut self) {
        // What another relay will send again must not leave late from here.
        self.publisher.purge();
    }
}
