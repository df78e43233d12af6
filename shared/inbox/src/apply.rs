//! Applies messages in one transaction: insert the ids, lock the aggregates, decide the order, lock the handlers' rows,
//! run the handlers, commit. Either all messages of a batch take effect or none.

use database::Database;

use crate::batch_plan::{BatchPlan, plan};
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
) -> Result<(), BatchError> {
    let name = consumer.name();
    let mut tx = database.begin().await?;
    let entries: Vec<InboxEntry> = batch.iter().map(IncomingMessage::entry).collect();
    let mut new = deduplication::insert_new(&mut tx, name, &entries).await?;
    crashpoint::reach!("consume.ids_entered");
    let mut fresh: Vec<IncomingMessage> = Vec::with_capacity(new.len());
    for message in batch {
        // Removed, because the same id may be twice in one batch and counts once.
        if new.remove(&message.envelope.id.uuid()) {
            fresh.push(message.clone());
        } else {
            message_span(&message.envelope, name).in_scope(|| tracing::info!("DuplicateIgnored"));
        }
    }
    if fresh.is_empty() {
        // Nothing to write: the transaction that inserted these ids has committed.
        tx.rollback().await?;
        let counts = BatchCounts { duplicates: batch.len(), ..BatchCounts::default() };
        database.metrics::<InboxMetrics>().count_batch(counts);
        return Ok(());
    }
    let known = batch.len() - fresh.len();
    let aggregates = fresh.iter().map(|message| message.entry().aggregate);
    let mut sequences = Sequences::lock(&mut tx, name, aggregates).await?;
    let mut held = HeldMessages::following(&mut tx, name, &fresh).await?;
    let BatchPlan { ready, repeated, held: newly_held, skipped_gaps } =
        plan(consumer, fresh, &mut sequences, &mut held);
    deduplication::ignore_repeated(&mut tx, name, &repeated).await?;
    let mut prepared = Vec::with_capacity(ready.len());
    for ready in &ready {
        prepared.push(consumer.prepare(&ready.message).map_err(|error| ready.batch_error(error))?);
    }
    consumer.lock(&mut tx, &mut prepared).await?;
    for (ready, prepared) in ready.iter().zip(prepared) {
        prepared.run(&mut tx, name).await.map_err(|error| ready.batch_error(error))?;
    }
    sequences.store(&mut tx);
    held.store(&mut tx, name).await?;
    // Most of these rows are the handlers'.
    tx.flush().await.map_err(|error| BatchError { in_handler: true, ..error.into() })?;
    crashpoint::reach!("consume.before_commit");
    tx.commit().await?;
    let duplicates = known + repeated.len();
    let counts = BatchCounts { applied: ready.len(), duplicates, held: newly_held, skipped_gaps };
    database.metrics::<InboxMetrics>().count_batch(counts);
    Ok(())
}
