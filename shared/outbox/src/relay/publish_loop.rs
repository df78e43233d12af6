//! Publishes window after window during one term.
//!
//! Messages are sent in the order of their ids, without waiting for each delivery report. The cursor moves only over the
//! longest prefix of messages that are all acknowledged or blocked.

use std::time::Duration;

use database::Gather;
use messaging::topics::LeaderlessTopic;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cursor::Cursor;
use super::deliveries::Deliveries;
use super::rebase::load_cursor;
use super::snapshot::{self, Snapshot, TakenSnapshot};
use super::window::Window;
use super::{Relay, RelayError, RelaySettings, small_window};
use crate::EVENTS_COMMITTED;
use crate::outbox_event::StoredEvent;

/// The first pause after events of other processes. Their commits do not wake this relay, so it looks again soon. The pause doubles
/// up to the setting `idle_poll`.
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// The first pause after a commit of this process. The next commit of this process wakes the relay, so it need not look.
const PAUSE_AFTER_WAKE_UP: Duration = Duration::from_millis(20);

/// How long a relay that stops waits for the delivery reports of messages under way.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct PublishLoop<'r> {
    pub(super) relay: &'r Relay,
    epoch: i64,
    pub(super) deliveries: Deliveries<'r>,
    pub(super) cursor: Cursor,
    /// The timeline of the server to which the cursor belongs.
    timeline: String,
    /// Every id up to this one had been drawn when the previous window was read.
    floor_id: i64,
    /// The number of messages of the last window.
    last_window: usize,
    /// True if a commit in this process has ended the last pause.
    is_woken: bool,
    checkpointed_at: Instant,
    /// True if the cursor has moved since the last checkpoint.
    has_moved: bool,
}

/// A window that was read with its rows.
struct SmallWindow {
    b: Snapshot,
    ceiling_id: i64,
    events: Vec<StoredEvent>,
}

impl<'r> PublishLoop<'r> {
    pub(super) async fn start(relay: &'r Relay, epoch: i64) -> Result<Self, RelayError> {
        let (cursor, timeline) = load_cursor(&relay.database, epoch).await?;
        Ok(Self {
            relay,
            epoch,
            deliveries: Deliveries::start(relay, Vec::new()).await?,
            floor_id: cursor.a.floor_id,
            cursor,
            timeline,
            last_window: 0,
            is_woken: false,
            checkpointed_at: Instant::now(),
            has_moved: false,
        })
    }

    /// Publishes until `stop` is cancelled. Then waits a short time for the messages under way and writes the cursor.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<(), RelayError> {
        let RelaySettings { gather, page, .. } = self.relay.settings;
        let (mut gather, mut pause) = (Gather::new(gather), MIN_PAUSE);
        loop {
            let read_at = Instant::now();
            let Some(published) = stop.run_until_cancelled(self.publish_window()).await else { break };
            let published = match published {
                Err(RelayError::NoLeader(topics)) => {
                    self.begin_again(topics).await?;
                    continue;
                }
                published => published?,
            };
            if published > 0 && !self.is_woken {
                pause = MIN_PAUSE;
            }
            gather.started(read_at, published);
            if published < page {
                let waited = async {
                    gather.wait().await;
                    self.wait_for_commit(pause).await
                };
                let Some(next_pause) = stop.run_until_cancelled(waited).await else { break };
                pause = next_pause;
            }
        }
        self.drain().await
    }

    /// Begins again from the cursor, with a new producer that gets no events for partitions without a leader. An event that the
    /// first producer has sent, and the cursor has not passed, is a duplicate.
    async fn begin_again(&mut self, leaderless: Vec<LeaderlessTopic>) -> Result<(), RelayError> {
        tracing::warn!(
            ?leaderless,
            "PartitionsWithoutLeader: their events wait, and all others are published"
        );
        self.checkpoint().await?;
        self.deliveries = Deliveries::start(self.relay, leaderless).await?;
        Ok(())
    }

    /// Waits for a commit in this process, at most for `pause`. Returns the next pause.
    async fn wait_for_commit(&mut self, pause: Duration) -> Duration {
        let RelaySettings { idle_poll, checkpoint, .. } = self.relay.settings;
        let committed = self.relay.database.wake_up(EVENTS_COMMITTED);
        // The end of the next window writes the cursor, so a moved cursor shortens the pause to the next checkpoint.
        let limit =
            if self.has_moved { checkpoint.saturating_sub(self.checkpointed_at.elapsed()) } else { pause };
        self.is_woken = tokio::time::timeout(pause.min(limit), committed.notified()).await.is_ok();
        if self.is_woken { PAUSE_AFTER_WAKE_UP } else { (pause * 2).min(idle_poll) }
    }

    /// Publishes one window completely. Returns the number of its messages.
    async fn publish_window(&mut self) -> Result<usize, RelayError> {
        while self.deliveries.publish_released(&self.relay.database).await? {
            self.checkpoint().await?;
        }
        let is_small = self.cursor.b.is_none() && self.last_window < self.relay.settings.page;
        if is_small && let Some(window) = self.read_small_window().await? {
            return self.publish_small(window).await;
        }
        let (b, ceiling_id) = self.end_of_window().await?;
        let (a, restored_id, last) = (self.cursor.a.clone(), self.cursor.restored_id, self.cursor.last_id);
        let window = Window { a, b, ceiling_id, restored_id, position: last };
        Box::pin(self.publish_large(window)).await // rare, and its future is large
    }

    /// Reads a window of less than a page by one statement; `None` if it may be larger.
    async fn read_small_window(&mut self) -> Result<Option<SmallWindow>, RelayError> {
        let (draws_xid, limit) = (self.draws_xid(), self.page_limit());
        let large_from = self.floor_id.saturating_add(limit);
        let (taken, events) =
            small_window::read(&self.relay.database, &self.cursor, draws_xid, large_from, limit).await?;
        if self.is_large(&taken) || events.len() >= self.relay.settings.page {
            self.floor_id = taken.ceiling_id;
            return Ok(None);
        }
        let ceiling_id = taken.ceiling_id;
        Ok(Some(SmallWindow { b: self.snapshot_b(taken)?, ceiling_id, events }))
    }

    async fn publish_small(&mut self, window: SmallWindow) -> Result<usize, RelayError> {
        let SmallWindow { mut b, ceiling_id, events } = window;
        let published = events.len();
        if published > 0 {
            crashpoint::reach!("relay.window_read");
            b.complete(&self.relay.database).await?;
            self.cursor.b = Some(b.clone());
            self.publish_page(&events).await?;
        }
        self.end_window(b, ceiling_id, published).await
    }

    /// Hands a page to the producer, and moves the cursor as far as the reports allow.
    pub(super) async fn publish_page(&mut self, page: &[StoredEvent]) -> Result<(), RelayError> {
        self.deliveries.send(page).await?;
        self.deliveries.read_reports()?;
        self.advance().await
    }

    /// Waits for the reports of a window whose messages were all sent, and makes its end the beginning of the next one.
    pub(super) async fn end_window(
        &mut self,
        mut b: Snapshot,
        ceiling_id: i64,
        published: usize,
    ) -> Result<usize, RelayError> {
        self.last_window = published;
        // Without new ids, A stays. Otherwise an idle relay would use up transaction numbers.
        if published > 0 || self.cursor.b.is_some() || ceiling_id > self.cursor.a.floor_id {
            self.wait_for_reports().await?;
            b.complete(&self.relay.database).await?;
            self.cursor = Cursor { a: b, b: None, last_id: 0, ..self.cursor.clone() };
        }
        self.has_moved |= published > 0;
        // A full page is worth a checkpoint at once; a smaller window waits for the interval.
        let is_backlog = published >= self.relay.settings.page;
        if self.has_moved && (is_backlog || self.is_checkpoint_due()) {
            self.checkpoint().await?;
        }
        Ok(published)
    }

    /// Returns snapshot B and the greatest id that may be visible in it. A window that was begun, perhaps by another relay, is
    /// finished with the same B: later commits belong to the next window.
    async fn end_of_window(&mut self) -> Result<(Snapshot, i64), RelayError> {
        let database = &self.relay.database;
        let draws_xid = self.draws_xid();
        let mut taken = snapshot::take(database, draws_xid).await?;
        // If the earlier look was long ago, look twice. Otherwise the next window would read the rows of this one again.
        if self.is_large(&taken) {
            self.floor_id = taken.ceiling_id;
            taken = snapshot::take(database, draws_xid).await?;
        }
        let ceiling_id = taken.ceiling_id;
        let b = self.snapshot_b(taken)?;
        Ok((self.cursor.b.clone().unwrap_or(b), ceiling_id))
    }

    /// Under load and after a commit, the transaction number comes with the snapshot. Otherwise it is drawn only if the window has
    /// rows.
    fn draws_xid(&self) -> bool {
        self.is_woken || self.last_window > 0
    }

    /// The setting `page`, as the database takes it.
    pub(super) fn page_limit(&self) -> i64 {
        i64::try_from(self.relay.settings.page).unwrap_or(i64::MAX)
    }

    /// Returns whether so many ids were drawn since the earlier look that they may be more than a page.
    fn is_large(&self, taken: &TakenSnapshot) -> bool {
        usize::try_from(taken.ceiling_id - self.floor_id).is_ok_and(|ids| ids >= self.relay.settings.page)
    }

    /// Makes a snapshot B, unless another server took it.
    fn snapshot_b(&mut self, taken: TakenSnapshot) -> Result<Snapshot, RelayError> {
        let b = Snapshot { text: taken.text, floor_id: self.floor_id, next_xid: taken.next_xid.unwrap_or(0) };
        self.floor_id = taken.ceiling_id;
        // Connections that break while no statement runs give no error. The numbers of a promoted server may have overtaken A.
        if taken.timeline != self.timeline || b.went_back_behind(&self.cursor.a) {
            return Err(RelayError::ServerChanged);
        }
        Ok(b)
    }

    /// Waits until all messages are acknowledged or blocked.
    async fn wait_for_reports(&mut self) -> Result<(), RelayError> {
        self.advance().await?;
        while !self.deliveries.are_done() {
            self.deliveries.next_report().await?;
            self.advance().await?;
        }
        Ok(())
    }

    /// Moves the cursor over the messages that are done, and writes it if a checkpoint is due.
    async fn advance(&mut self) -> Result<(), RelayError> {
        if let Some(id) = self.deliveries.take_passed() {
            self.cursor.last_id = id;
            self.has_moved = true;
        }
        if self.deliveries.blocked.are_many() || (self.has_moved && self.is_checkpoint_due()) {
            self.checkpoint().await?;
        }
        Ok(())
    }

    fn is_checkpoint_due(&self) -> bool {
        self.checkpointed_at.elapsed() >= self.relay.settings.checkpoint
    }

    async fn checkpoint(&mut self) -> Result<(), RelayError> {
        let mut tx = self.relay.database.begin().await?;
        self.cursor.write(&mut tx, self.epoch).await?;
        self.deliveries.blocked.save(&mut tx).await?;
        tx.commit().await?;
        self.deliveries.blocked.saved();
        crashpoint::reach!("relay.after_checkpoint");
        self.checkpointed_at = Instant::now();
        self.has_moved = false;
        Ok(())
    }

    async fn drain(mut self) -> Result<(), RelayError> {
        let drained = tokio::time::timeout(DRAIN_TIMEOUT, self.wait_for_reports()).await;
        // The cursor is written in any case: it is before the messages without a report.
        self.checkpoint().await?;
        drained.unwrap_or(Ok(()))
    }
}
