//! Applies one message after its batch has failed: again and again with backoff, and then parks it.
//!
//! Only errors of the message itself count as attempts. Many aggregates that fail for the same reason are not to blame, so a
//! limited number of them is parked. After that the partition keeps its place until the cause is gone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use database::RetryLog;
use messaging::ReceivedMessage;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::apply::apply;
use crate::batch_plan::Steps;
use crate::error::{BatchError, Cause};
use crate::message::{Arrival, InboxEntry};
use crate::metrics::{InboxMetrics, Reception, StoppedPartition};
use crate::parking::limit::may_park;
use crate::sequence::Sequences;
use crate::worker::Worker;
use crate::{HandlerError, parking};

/// The result of an attempt to park a message.
#[derive(PartialEq)]
pub(crate) enum Parking {
    /// It is parked, or needs no parking any more.
    Done,
    /// Too many aggregates are parked for the same reason.
    Refused,
}

impl Worker {
    /// Applies or parks one message, with backoff. Transient errors cost no attempts.
    pub(crate) async fn apply_one(
        &self,
        received: &ReceivedMessage,
        stop: &CancellationToken,
    ) -> ControlFlow<()> {
        let metrics: &InboxMetrics = self.database.metrics();
        let mut pause = self.settings.first_pause;
        // Of the received message (`None`) and of each held one that it releases.
        let mut attempts_of: BTreeMap<Option<Uuid>, u32> = BTreeMap::new();
        let (mut failing_since, mut log) = (None, RetryLog::default());
        let mut stopped: Option<(Instant, StoppedPartition)> = None;
        loop {
            let (consumer, partition, offset) = (self.consumer.name(), received.partition, received.offset);
            let Err(failed) = self.attempt(received).await else {
                if let Some(failing) = log.succeeded() {
                    tracing::info!(consumer, partition, offset, ?failing, "a message was applied at last");
                }
                return ControlFlow::Continue(());
            };
            let error = &failed.error;
            metrics.failed_attempts.inc();
            let is_transient = error.is_transient();
            let held = if let Cause::Held(held) = &failed.cause { Some(held) } else { None };
            let attempts = attempts_of.entry(held.map(|held| held.id)).or_default();
            *attempts += u32::from(!is_transient);
            let is_tried = !is_transient && *attempts >= self.settings.attempts;
            let is_slow = failed.in_handler && is_transient;
            failing_since = is_slow.then(|| failing_since.unwrap_or_else(Instant::now));
            let is_stuck = failing_since.is_some_and(|since| since.elapsed() >= self.settings.handler_limit);
            let mut wait = pause;
            if error.is_final() || is_tried || is_stuck {
                let stopped_for = stopped.as_ref().map_or(Duration::ZERO, |(since, _)| since.elapsed());
                let parked = match held {
                    Some(held) => self.park_held(held, error, stopped_for).await,
                    None => self.park_received(received, Arc::clone(error), stopped_for).await,
                };
                match parked {
                    Ok(Parking::Done) if held.is_none() => return ControlFlow::Continue(()),
                    Ok(Parking::Done) => failing_since = None, // it is that of the held message, which is parked
                    Ok(Parking::Refused) => {
                        self.log_stop(received, error);
                        stopped.get_or_insert_with(|| (Instant::now(), metrics.count_stopped_partition()));
                        wait = self.settings.stopped_pause;
                    }
                    Err(BatchError { error, .. }) if log.failed().is_some() => {
                        tracing::warn!(%error, "a message was not parked; trying again");
                    }
                    Err(_) => {}
                }
            } else if log.failed().is_some() || !is_transient {
                tracing::warn!(consumer, partition, offset, attempts, failure = %error, "a message was not applied; trying again");
            }
            if stop.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return ControlFlow::Break(());
            }
            pause = (pause * 2).min(self.settings.longest_pause);
        }
    }

    async fn attempt(&self, received: &ReceivedMessage) -> Result<(), BatchError> {
        let message = [Arrival::of(received)?];
        match apply(self, &message, Steps::Together, Duration::ZERO).await {
            // It releases held messages, and the rows of all were refused. One by one, the error is that of its message.
            Err(BatchError { error, cause: Cause::Unknown, .. }) if !error.is_transient() => {
                apply(self, &message, Steps::OneByOne, Duration::ZERO).await
            }
            applied => applied,
        }
    }

    /// Parks a received message that cannot be applied.
    pub(crate) async fn park_received(
        &self,
        received: &ReceivedMessage,
        error: Arc<HandlerError>,
        stopped_for: Duration,
    ) -> Result<Parking, BatchError> {
        let refused = [Arrival::refused(received, error)];
        match apply(self, &refused, Steps::Together, stopped_for).await {
            Ok(()) => Ok(Parking::Done),
            Err(BatchError { cause: Cause::ParkingLimit, .. }) => Ok(Parking::Refused),
            Err(failed) => Err(failed),
        }
    }

    /// Parks a held message that is next in its aggregate and cannot be applied. The received message that released it is
    /// not parked.
    async fn park_held(
        &self,
        held: &InboxEntry,
        error: &HandlerError,
        stopped_for: Duration,
    ) -> Result<Parking, BatchError> {
        let name = self.consumer.name();
        let mut tx = self.database.begin().await?;
        Sequences::lock(&tx, name, [held.aggregate.clone()]).await?;
        let is_allowed = may_park(&mut tx, name, error, &self.settings, stopped_for).await?;
        if !is_allowed || !parking::park_held(&mut tx, name, held, error).await? {
            tx.rollback().await?;
            // If it is allowed, another instance or an operator has applied, parked or discarded the message.
            return Ok(if is_allowed { Parking::Done } else { Parking::Refused });
        }
        tx.commit().await?;
        self.database.metrics::<InboxMetrics>().messages.count(Reception::Parked);
        tracing::error!(consumer = name, message_id = %held.id, aggregate = %held.aggregate.id, failure = %error, "MessageParked");
        Ok(Parking::Done)
    }

    /// Logs that the partition waits here, because aggregates fail alike.
    fn log_stop(&self, received: &ReceivedMessage, failure: &HandlerError) {
        let (consumer, limit) = (self.consumer.name(), self.settings.parking_limit);
        let ReceivedMessage { topic, partition, offset, .. } = received;
        let reason = failure.reason();
        tracing::error!(consumer, %topic, partition, offset, limit, reason, %failure, "ParkingStopped: so many aggregates are parked for this reason that the cause is not theirs; this partition waits. Remove the cause, or discard parked messages, or raise IDEM_INBOX__PARKING_LIMIT");
    }
}
