//! Applies messages in one transaction: lock the aggregates and find the ids that are new, decide the order, lock the
//! handlers' rows, run the handlers, write and commit. Either all messages of a batch take effect or none.

use database::{Database, ErrorClass};
use futures_util::{TryFutureExt, try_join};

use crate::HandlerError;
use crate::batch_plan::{BatchPlan, Steps, plan};
use crate::consumer::{Consumer, message_span};
use crate::deduplication;
use crate::error::BatchError;
use crate::message::{InboxEntry, IncomingMessage};
use crate::metrics::{BatchCounts, InboxMetrics};
use crate::parking::held::HeldMessages;
use crate::sequence::Sequences;

/// Applies a batch. Its span is in a trace of its own, because it serves the traces of all its messages.
#[tracing::instrument(name = "batch", parent = None, skip_all, fields(consumer = consumer.name(), messages = batch.len()))]
pub(crate) async fn apply(
    database: &Database,
    consumer: &Consumer,
    batch: &[IncomingMessage],
    steps: Steps,
) -> Result<(), BatchError> {
    let name = consumer.name();
    let entries: Vec<InboxEntry> = batch.iter().map(IncomingMessage::entry).collect();
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
    let mut fresh: Vec<IncomingMessage> = Vec::with_capacity(batch.len());
    for message in batch {
        // Inserted, because the same id may be twice in one batch and counts once.
        if known.insert(message.envelope.id.uuid()) {
            deduplication::record(&mut tx, name, message.entry());
            fresh.push(message.clone());
        } else {
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
    let received_before = batch.len() - fresh.len();
    let BatchPlan { ready, repeated, held: newly_held, skipped_gaps } =
        plan(consumer, fresh, &mut sequences, &mut held);
    deduplication::refuse_second_history(&mut tx, name, &repeated, &newly_held).await?;
    let mut prepared = Vec::with_capacity(ready.len());
    for ready in &ready {
        prepared.push(consumer.prepare(&ready.message).map_err(|error| ready.batch_error(error))?);
    }
    let refused = |error: HandlerError, in_handler| {
        let is_common = steps == Steps::Together && ready.len() > 1 && !error.is_transient();
        BatchError { in_handler, is_common, ..error.into() }
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
    crashpoint::reach!("consume.before_commit");
    tx.commit().await.map_err(|error| {
        // Most of the rows are the handlers'.
        let in_handler = error.class() != ErrorClass::CommitUnknown;
        refused(error.into(), in_handler)
    })?;
    let duplicates = received_before + repeated.len();
    let counts = BatchCounts { applied: ready.len(), duplicates, held: newly_held.len(), skipped_gaps };
    database.metrics::<InboxMetrics>().count_batch(counts);
    Ok(())
}
