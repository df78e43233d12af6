//! Applies messages in one transaction: insert the ids, lock the aggregates, decide the order, lock the handlers' rows,
//! run the handlers, commit. Either all messages of a batch take effect or none.

use database::Database;

use crate::consumer::Consumer;
use crate::error::BatchError;
use crate::message::{InboxEntry, IncomingMessage};
use crate::metrics::{InboxMetrics, Reception};
use crate::parking::held::HeldMessages;
use crate::sequence::{SequencePosition, Sequences};
use crate::{HandlerError, deduplication};

/// Applies a batch.
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
        let id = message.envelope.id;
        // Removed, because the same id may be twice in one batch and counts once.
        if new.remove(&id.uuid()) {
            fresh.push(message.clone());
        } else {
            tracing::info!(consumer = name, message_id = %id, kind = %message.envelope.kind, "DuplicateIgnored");
        }
    }
    if fresh.is_empty() {
        // Nothing to write: the transaction that inserted these ids has committed.
        tx.rollback().await?;
        count(database, Counts { duplicates: batch.len(), ..Counts::default() });
        return Ok(());
    }
    let known = batch.len() - fresh.len();
    let aggregates = fresh.iter().map(|message| message.entry().aggregate);
    let mut sequences = Sequences::lock(&mut tx, name, aggregates).await?;
    let mut held = HeldMessages::following(&mut tx, name, &fresh).await?;
    let Plan { ready, repeated, held: newly_held, skipped_gaps } =
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
    sequences.store(&mut tx).await?;
    held.store(&mut tx, name).await?;
    // Most of these rows are the handlers'.
    tx.flush().await.map_err(|error| BatchError { in_handler: true, ..error.into() })?;
    crashpoint::reach!("consume.before_commit");
    tx.commit().await?;
    let duplicates = known + repeated.len();
    count(database, Counts { applied: ready.len(), duplicates, held: newly_held, skipped_gaps });
    Ok(())
}

/// The numbers of one committed batch.
#[derive(Clone, Copy, Default)]
struct Counts {
    applied: usize,
    duplicates: usize,
    held: usize,
    skipped_gaps: usize,
}

fn count(database: &Database, counts: Counts) {
    let metrics: &InboxMetrics = database.metrics();
    let number = |messages: usize| messages.try_into().unwrap_or(u64::MAX);
    metrics.messages.add(Reception::Applied, number(counts.applied));
    metrics.messages.add(Reception::Duplicate, number(counts.duplicates));
    metrics.messages.add(Reception::Held, number(counts.held));
    metrics.skipped_gaps.inc_by(number(counts.skipped_gaps));
}

/// A message to apply now.
struct ReadyMessage {
    message: IncomingMessage,
    /// True if the message had been held until now.
    was_held: bool,
}

impl ReadyMessage {
    fn batch_error(&self, error: HandlerError) -> BatchError {
        BatchError { error, held: self.was_held.then(|| self.message.entry()), in_handler: true }
    }
}

/// What becomes of the messages of a batch.
struct Plan {
    /// The messages to apply, in order.
    ready: Vec<ReadyMessage>,
    /// Messages whose number was applied before.
    repeated: Vec<InboxEntry>,
    /// The number of messages that wait for an earlier one.
    held: usize,
    /// The number of gaps that a projection skips.
    skipped_gaps: usize,
}

/// Decides which messages are applied, in which order, and which are held. Advances the sequences past the messages to
/// apply, because a handler that fails rolls the whole transaction back.
fn plan(
    consumer: &Consumer,
    fresh: Vec<IncomingMessage>,
    sequences: &mut Sequences,
    held: &mut HeldMessages,
) -> Plan {
    let name = consumer.name();
    let mut plan =
        Plan { ready: Vec::with_capacity(fresh.len()), repeated: Vec::new(), held: 0, skipped_gaps: 0 };
    for message in fresh {
        let InboxEntry { aggregate, sequence, .. } = message.entry();
        let last = sequences.last(&aggregate);
        match sequences.position(&aggregate, sequence) {
            SequencePosition::Duplicate => plan.repeated.push(message.entry()),
            SequencePosition::Later if consumer.takes_newest(&message.envelope.kind) => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "a projection skips a gap and takes the newest message");
                plan.skipped_gaps += 1;
                sequences.advance(&aggregate, sequence);
                plan.ready.push(ReadyMessage { message, was_held: false });
            }
            SequencePosition::Later => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "MessageHeld");
                plan.held += 1;
                held.add(message);
            }
            SequencePosition::Next => {
                sequences.advance(&aggregate, sequence);
                plan.ready.push(ReadyMessage { message, was_held: false });
                while let Some(message) = held.release(&aggregate, sequences.last(&aggregate) + 1) {
                    sequences.advance(&aggregate, message.envelope.sequence);
                    plan.ready.push(ReadyMessage { message, was_held: true });
                }
            }
        }
    }
    plan
}
