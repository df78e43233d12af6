//! Publishes page after page during one term.
//!
//! A term lasts as long as its session of the database. When the session ends, for instance by a failover, the next term begins with the
//! cursor's row, which is as old as the database that holds it: rows are repeated, and none is skipped.
//!
//! What goes wrong if a term outlives its session: the database fails over to a standby that lacks the last rows. The standby gives
//! their ids to new rows, and the relay skips these, because its position in memory is behind them.

use std::time::Duration;

use database::{Connection, Gather};
use futures_util::TryFutureExt;
use futures_util::future::try_join;
use messaging::topics::TopicState;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::cursor::Cursor;
use super::deliveries::Deliveries;
use super::gaps::range;
use super::log_reader::{LogReader, Page};
use super::{Relay, RelayError, RelaySettings};
use crate::EVENTS_COMMITTED;

/// The first pause after events of other processes. Their commits do not wake this relay, so it looks again soon. The pause doubles
/// up to the setting `idle_poll`.
const MIN_PAUSE: Duration = Duration::from_millis(2);

/// The first pause after a commit of this process. The next commit of this process wakes the relay, so it need not look.
const PAUSE_AFTER_WAKE_UP: Duration = Duration::from_millis(20);

/// How long a relay that stops waits for the delivery reports of messages under way.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct PublishLoop<'r> {
    relay: &'r Relay,
    epoch: i64,
    session: Connection,
    reader: LogReader,
    deliveries: Deliveries<'r>,
    checkpointed_at: Instant,
}

impl<'r> PublishLoop<'r> {
    pub(super) async fn start(relay: &'r Relay, epoch: i64) -> Result<Self, RelayError> {
        let session = relay.database.connection().await?;
        let reader = Cursor::load(&session, epoch).await?;
        Ok(Self {
            relay,
            epoch,
            session,
            reader,
            deliveries: Deliveries::start(relay, Vec::new()).await?,
            checkpointed_at: Instant::now(),
        })
    }

    /// Publishes until `stop` is cancelled. Then waits a short time for the messages under way and writes the cursor.
    pub(super) async fn run(mut self, stop: &CancellationToken) -> Result<(), RelayError> {
        if let Some(failed) = stop.run_until_cancelled(self.publish()).await {
            return failed;
        }
        let drained = tokio::time::timeout(DRAIN_TIMEOUT, self.wait_for_reports()).await;
        self.checkpoint().await?;
        drained.unwrap_or(Ok(()))
    }

    /// Publishes without an end.
    async fn publish(&mut self) -> Result<(), RelayError> {
        loop {
            match self.publish_rounds().await {
                Err(RelayError::NoLeader(topics)) => self.begin_again(topics).await?,
                ended => return ended,
            }
        }
    }

    async fn publish_rounds(&mut self) -> Result<(), RelayError> {
        let RelaySettings { gather, idle_poll, .. } = self.relay.settings;
        let (mut gather, mut pause, mut is_woken) = (Gather::new(gather), MIN_PAUSE, false);
        loop {
            let read_at = Instant::now();
            let rows = self.publish_pages().await?;
            if rows > 0 && !is_woken {
                pause = MIN_PAUSE;
            }
            gather.started(read_at, rows);
            gather.wait().await;
            is_woken = self.wait_for_commit(pause).await?;
            pause = if is_woken { PAUSE_AFTER_WAKE_UP } else { (pause * 2).min(idle_poll) };
        }
    }

    /// Publishes the rows that are there, page by page. Returns their number.
    async fn publish_pages(&mut self) -> Result<usize, RelayError> {
        self.take_released().await?;
        let limit = i64::try_from(self.relay.settings.page).unwrap_or(i64::MAX);
        let mut page = self.reader.next_page(limit).read(&self.session).await?;
        let mut rows = 0;
        loop {
            rows += page.rows.len();
            let is_full = page.rows.len() >= self.relay.settings.page;
            self.take(page, is_full);
            if !is_full {
                self.deliveries.send_queued().await?;
                self.checkpoint_if_due().await?;
                return Ok(rows);
            }
            // While a page goes to the producer, the next one is read. One page is read ahead, so the memory is bounded.
            let read = self.reader.next_page(limit).read(&self.session).err_into();
            let send = async {
                yield_now().await; // otherwise the query may wait on this thread until the page is handed over
                self.deliveries.send_queued().await
            };
            (page, ()) = try_join(read, send).await?;
            self.checkpoint_if_due().await?;
        }
    }

    /// Moves the reader behind the page, and its rows to the deliveries. Nothing comes in between, so each row up to the position is
    /// in a gap, with the deliveries, or done.
    fn take(&mut self, page: Page, is_full: bool) {
        if !page.rows.is_empty() {
            crashpoint::reach!("relay.page_read");
        }
        self.deliveries.has_moved |= self.reader.pass(&page, is_full);
        self.deliveries.queue(page.rows);
    }

    /// Puts the ids of released events back among the gaps, so that the next read finds these events. Nothing is under way meanwhile,
    /// and the table has all blocked events, so the order of each aggregate holds.
    async fn take_released(&mut self) -> Result<(), RelayError> {
        if !self.deliveries.blocked.is_look_due() {
            return Ok(());
        }
        self.wait_for_reports().await?;
        self.checkpoint().await?;
        self.deliveries.blocked.release_usable_topics(&self.relay.database, &self.relay.brokers).await?;
        let mut tx = self.relay.database.begin_on(&self.session).await?;
        let released = self.deliveries.blocked.take_released(&mut tx).await?;
        if released.is_empty() {
            return Ok(tx.rollback().await?);
        }
        self.reader.read_again(released);
        self.cursor().write(&mut tx, self.epoch).await?;
        tx.commit().await?;
        self.deliveries.renew_producer()
    }

    /// Begins again from the cursor, with a new producer that gets no events for partitions without a leader. An event that the
    /// first producer has sent, and that is not acknowledged, is a duplicate.
    async fn begin_again(&mut self, leaderless: Vec<TopicState>) -> Result<(), RelayError> {
        tracing::warn!(
            ?leaderless,
            "PartitionsWithoutLeader: their events wait, and all others are published"
        );
        let Cursor { position, gaps } = self.checkpoint().await?;
        self.reader = LogReader::new(position, gaps.into());
        self.deliveries = Deliveries::start(self.relay, leaderless).await?;
        Ok(())
    }

    /// Waits for a commit in this process, at most for `pause`. Returns whether there was one. Meanwhile it reads reports, and writes the
    /// cursor when that is due.
    async fn wait_for_commit(&mut self, pause: Duration) -> Result<bool, RelayError> {
        let committed = self.relay.database.wake_up(EVENTS_COMMITTED);
        let end = Instant::now() + pause;
        loop {
            let due = self.checkpointed_at + self.relay.settings.checkpoint;
            let until = if self.deliveries.has_moved { due.min(end) } else { end };
            tokio::select! {
                () = committed.notified() => return Ok(true),
                has_report = self.deliveries.has_report(), if !self.deliveries.are_done() => {
                    if !has_report? {
                        self.deliveries.ask_for_leaders().await?;
                    }
                }
                () = sleep_until(until) => {
                    self.checkpoint_if_due().await?;
                    if Instant::now() >= end {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Waits until all messages are acknowledged or blocked.
    async fn wait_for_reports(&mut self) -> Result<(), RelayError> {
        while !self.deliveries.are_done() {
            self.deliveries.next_report().await?;
        }
        Ok(())
    }

    async fn checkpoint_if_due(&mut self) -> Result<(), RelayError> {
        let is_due = self.checkpointed_at.elapsed() >= self.relay.settings.checkpoint;
        if self.deliveries.blocked.are_many() || (self.deliveries.has_moved && is_due) {
            self.checkpoint().await?;
        }
        Ok(())
    }

    /// Writes the cursor and the blocked events. The session is that of the reads, so the row belongs to the database that they saw.
    async fn checkpoint(&mut self) -> Result<Cursor, RelayError> {
        let cursor = self.cursor();
        let mut tx = self.relay.database.begin_on(&self.session).await?;
        cursor.write(&mut tx, self.epoch).await?;
        self.deliveries.blocked.save(&mut tx).await?;
        tx.commit().await?;
        self.deliveries.blocked.saved();
        crashpoint::reach!("relay.after_checkpoint");
        self.checkpointed_at = Instant::now();
        self.deliveries.has_moved = false;
        Ok(cursor)
    }

    fn cursor(&self) -> Cursor {
        let undone = self.deliveries.undone().map(|id| range(id..=id));
        let gaps = self.reader.gaps().into_iter().chain(undone).collect();
        Cursor { position: self.reader.position(), gaps }
    }
}
