//! Applies messages in one transaction: lock the aggregates and find the ids that are new, decide the order, lock the
//! handlers' rows, run the handlers, write, park what cannot be applied, and commit. Either all of a batch takes effect or nothing.

use std::time::Duration;

use database::{ErrorClass, Tx};
use futures_util::{TryFutureExt, try_join};

use crate::HandlerError;
use crate::batch_plan::{BatchPlan, Steps, plan};
use crate::consumer::message_span;
use crate::error::{BatchError, Cause};
use crate::message::{Arrival, InboxEntry, RecordOrigin, payload_of};
use crate::metrics::{BatchCounts, InboxMetrics};
use crate::parking::held::HeldMessages;
use crate::parking::limit::may_park;
use crate::sequence::Sequences;
use crate::worker::Worker;
use crate::{deduplication, parking};

/// Applies a batch, and parks those of its messages that cannot be applied. Its span is in a trace of its own, because it serves the
/// traces of all its messages. `stopped_for` is the time that its partition has waited, because too many aggregates fail alike.
#[tracing::instrument(name = "batch", parent = None, skip_all, fields(consumer = worker.consumer.name(), messages = batch.len()))]
pub(crate) async fn apply(
    worker: &Worker,
    batch: &[Arrival<'_>],
    steps: Steps,
    stopped_for: Duration,
) -> Result<(), BatchError> {
    let Worker { database, consumer, .. } = worker;
    let name = consumer.name();
    let entries: Vec<InboxEntry> = batch.iter().map(|arrival| arrival.entry.clone()).collect();
    let aggregates = entries.iter().map(|entry| entry.aggregate.clone());
    let (mut tx, (mut sequences, mut known, mut held)) = database
        .begin_reading(async |tx| {
            // In this order: behind the locks, reads see what their previous holders have committed.
            try_join!(
                Sequences::lock(tx, name, aggregates).err_into::<BatchError>(),
                deduplication::known(tx, name, &entries).err_into(),
                HeldMessages::following(tx, name, &entries),
            )
        })
        .await?;
    crashpoint::reach!("consume.aggregates_locked");
    let mut fresh = Vec::with_capacity(batch.len());
    for arrival in batch {
        // Inserted, because the same id may be twice in one batch and counts once.
        if known.insert(arrival.entry.id) {
            deduplication::record(&mut tx, name, arrival.entry.clone());
            fresh.push(arrival);
        } else if let Ok(message) = &arrival.message {
            message_span(&message.envelope, name).in_scope(|| tracing::info!("DuplicateIgnored"));
        }
    }
    if fresh.is_empty() {
        // Nothing to write: the transaction that wrote these ids has committed.
        tx.rollback().await?;
        let counts = BatchCounts { duplicates: batch.len(), ..BatchCounts::default() };
        database.metrics::<InboxMetrics>().count_batch(counts);
        return Ok(());
    }
    let BatchPlan { ready, repeated, held: newly_held, parked, skipped_gaps } =
        plan(consumer, fresh, &mut sequences, &mut held);
    deduplication::refuse_second_history(&mut tx, name, &repeated, &newly_held).await?;
    let mut prepared = Vec::with_capacity(ready.len());
    for ready in &ready {
        prepared.push(consumer.prepare(&ready.message).map_err(|error| ready.batch_error(error))?);
    }
    let refused = |error: HandlerError, in_handler| {
        let cause = if let [only] = &*ready { only.cause() } else { Cause::Unknown };
        BatchError { cause, in_handler, ..error.into() }
    };
    if steps == Steps::Together {
        consumer.lock(&tx, &mut prepared).await.map_err(|error| refused(error, false))?;
    }
    for (ready, mut prepared) in ready.iter().zip(prepared) {
        let applied = async {
            if steps == Steps::Together {
                return prepared.run(&mut tx, name).await;
            }
            consumer.lock(&tx, std::slice::from_mut(&mut prepared)).await?;
            prepared.run(&mut tx, name).await?;
            Ok(tx.flush().await?)
        };
        applied.await.map_err(|error| ready.batch_error(error))?;
    }
    sequences.store(&mut tx);
    held.store(&mut tx, name).await?;
    worker.park_all(&mut tx, &parked, stopped_for).await?;
    crashpoint::reach!("consume.before_commit");
    tx.commit().await.map_err(|error| {
        // Most of the rows are the handlers'.
        let in_handler = error.class() != ErrorClass::CommitUnknown;
        refused(error.into(), in_handler)
    })?;
    let received_now = ready.iter().filter(|ready| !ready.was_held).count();
    let duplicates = batch.len() - received_now - newly_held.len() - parked.len();
    let (applied, held) = (ready.len(), newly_held.len());
    let counts = BatchCounts { applied, duplicates, held, parked: parked.len(), skipped_gaps };
    database.metrics::<InboxMetrics>().count_batch(counts);
    for arrival in parked {
        log_parked(name, arrival);
    }
    Ok(())
}

impl Worker {
    /// Parks received messages that cannot be applied. Later messages of their aggregates are held behind them.
    async fn park_all(
        &self,
        tx: &mut Tx,
        refused: &[&Arrival<'_>],
        stopped_for: Duration,
    ) -> Result<(), BatchError> {
        if !refused.is_empty() {
            tx.flush().await?; // the lock of the parking limit comes after those of all rows
        }
        for Arrival { received, entry, message } in refused {
            let Err(error) = message else { continue };
            if !may_park(tx, self.consumer.name(), error, &self.settings, stopped_for).await? {
                let error = error.clone();
                return Err(BatchError { error, cause: Cause::ParkingLimit, in_handler: false });
            }
            let origin = RecordOrigin::of(received);
            parking::park(tx, self.consumer.name(), entry, &origin, payload_of(received), error).await?;
        }
        Ok(())
    }
}

fn log_parked(consumer: &str, Arrival { received, entry, message }: &Arrival<'_>) {
    let Err(failure) = message else { return };
    let (topic, aggregate) = (&received.topic, entry.aggregate.id);
    tracing::error!(consumer, %topic, received.partition, received.offset, %aggregate, %failure, "MessageParked");
}
