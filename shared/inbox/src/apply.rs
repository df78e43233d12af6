//! One transaction: enter the messages, react to those that are new, commit. Nothing in between is visible to anybody.

use database::Database;
use messaging::Received;

use crate::consumer::Consumer;
use crate::failure::Stopped;
use crate::incoming::{Entry, Incoming, Origin, UNKNOWN};
use crate::sequence::{Place, Sequences};
use crate::waiting::Waiting;
use crate::{HandlerError, ledger, park};

/// Applies the messages, all or none.
pub(crate) async fn apply(
    database: &Database,
    consumer: &Consumer,
    batch: &[Incoming],
) -> Result<(), Stopped> {
    let name = consumer.name();
    let mut tx = database.begin().await?;
    let entries: Vec<Entry> = batch.iter().map(Incoming::entry).collect();
    let mut new = ledger::enter(&mut tx, name, &entries).await?;
    crashpoint::reach!("consume.ids_entered");
    let mut fresh: Vec<Incoming> = Vec::with_capacity(new.len());
    for incoming in batch {
        let id = incoming.envelope.id;
        // Removed, because the same id may be twice in one batch: it is entered once and counts once.
        if new.remove(&id.uuid()) {
            fresh.push(incoming.clone());
        } else {
            tracing::info!(consumer = name, message_id = %id, kind = %incoming.envelope.kind, "DuplicateIgnored");
        }
    }
    if fresh.is_empty() {
        // Nothing to write: the transaction that entered these ids has committed.
        tx.rollback().await?;
        return Ok(());
    }
    let lines = fresh.iter().map(|incoming| incoming.entry().line);
    let mut sequences = Sequences::lock(&mut tx, name, lines).await?;
    let mut waiting = Waiting::behind(&mut tx, name, &fresh).await?;
    let ready = plan(consumer, fresh, &mut sequences, &mut waiting);
    let mut prepared = Vec::with_capacity(ready.len());
    for message in &ready {
        prepared.push(consumer.prepare(&message.incoming).map_err(|failure| message.stopped(failure))?);
    }
    consumer.lock(&mut tx, &mut prepared).await?;
    for (message, prepared) in ready.iter().zip(prepared) {
        prepared.run(&mut tx, name).await.map_err(|failure| message.stopped(failure))?;
    }
    sequences.store(&mut tx).await?;
    waiting.store(&mut tx, name).await?;
    tx.flush().await?;
    crashpoint::reach!("consume.before_commit");
    tx.commit().await?;
    Ok(())
}

/// A message whose turn it is.
struct Ready {
    incoming: Incoming,
    /// Whether the message had been held until now.
    was_held: bool,
}

impl Ready {
    /// Ends the transaction because of this message.
    fn stopped(&self, failure: HandlerError) -> Stopped {
        Stopped { failure, held: self.was_held.then(|| self.incoming.entry()) }
    }
}

/// Decides which messages are applied and in which order, and which are held. Moves the sequences past the messages to
/// apply: if one of them fails, the transaction is rolled back.
fn plan(
    consumer: &Consumer,
    fresh: Vec<Incoming>,
    sequences: &mut Sequences,
    waiting: &mut Waiting,
) -> Vec<Ready> {
    let name = consumer.name();
    let mut ready = Vec::with_capacity(fresh.len());
    for incoming in fresh {
        let Entry { line, sequence, .. } = incoming.entry();
        let last = sequences.last(&line);
        match sequences.place(&line, sequence) {
            Place::Duplicate => {
                tracing::info!(consumer = name, message_id = %incoming.envelope.id, sequence, "DuplicateIgnored");
            }
            Place::Later if consumer.takes_newest(&incoming.envelope.kind) => {
                tracing::warn!(consumer = name, aggregate = %line.aggregate, sequence, last, "a gap in a projection: the newest is taken");
                sequences.advance(&line, sequence);
                ready.push(Ready { incoming, was_held: false });
            }
            Place::Later => {
                tracing::warn!(consumer = name, aggregate = %line.aggregate, sequence, last, "MessageHeld");
                waiting.put(incoming);
            }
            Place::Next => {
                sequences.advance(&line, sequence);
                ready.push(Ready { incoming, was_held: false });
                while let Some(incoming) = waiting.take(&line, sequences.last(&line) + 1) {
                    sequences.advance(&line, incoming.envelope.sequence);
                    ready.push(Ready { incoming, was_held: true });
                }
            }
        }
    }
    ready
}

/// Puts a message aside that cannot be applied. Later ones of its aggregate are held behind it.
pub(crate) async fn put_aside(
    database: &Database,
    reactions: &Consumer,
    received: &Received,
    failure: &HandlerError,
) -> Result<(), HandlerError> {
    let consumer = reactions.name();
    let entry = Incoming::read_envelope(received)
        .map_or_else(|_| Entry::of_unreadable(received), |incoming| incoming.entry());
    let mut tx = database.begin().await?;
    let new = ledger::enter(&mut tx, consumer, std::slice::from_ref(&entry)).await?;
    if new.is_empty() {
        tx.rollback().await?;
        return Ok(());
    }
    let sequences = Sequences::lock(&mut tx, consumer, [entry.line.clone()]).await?;
    if entry.sequence != UNKNOWN && sequences.place(&entry.line, entry.sequence) == Place::Duplicate {
        // It was dealt with before its id was trimmed: parked once is enough.
        tx.commit().await?;
        tracing::warn!(consumer, message_id = %entry.id, %failure, "DuplicateIgnored");
        return Ok(());
    }
    let payload = received.payload.as_deref().unwrap_or_default();
    park::park(&mut tx, consumer, &entry, &Origin::of(received), payload, failure).await?;
    tx.commit().await?;
    let (topic, partition, offset) = (&received.topic, received.partition, received.offset);
    tracing::error!(consumer, %topic, partition, offset, aggregate = %entry.line.aggregate, %failure, "MessageParked");
    Ok(())
}

/// Parks a held message, whose turn has come and which cannot be applied: the one that came before it is not to blame.
pub(crate) async fn park_held(
    database: &Database,
    reactions: &Consumer,
    held: &Entry,
    failure: &HandlerError,
) -> Result<(), HandlerError> {
    let consumer = reactions.name();
    let mut tx = database.begin().await?;
    Sequences::lock(&mut tx, consumer, [held.line.clone()]).await?;
    if !park::park_held(&mut tx, consumer, held, failure).await? {
        // Somebody else has dealt with it since.
        tx.rollback().await?;
        return Ok(());
    }
    tx.commit().await?;
    tracing::error!(consumer, message_id = %held.id, aggregate = %held.line.aggregate, %failure, "MessageParked");
    Ok(())
}
