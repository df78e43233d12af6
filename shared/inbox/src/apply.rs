//! One transaction: enter the messages, react to those that are new, commit. Nothing in between is visible to anybody.

use database::{Database, Tx, UnitOfWork};
use messaging::Received;

use crate::consumer::{Consumer, Reaction};
use crate::failure::{Stopped, caught};
use crate::incoming::{Entry, Incoming, Origin, UNKNOWN};
use crate::sequence::{Place, Sequences};
use crate::waiting::Waiting;
use crate::{HandlerError, ledger, park};

/// Applies the messages, all or none. Returns how many took effect.
pub(crate) async fn apply(
    database: &Database,
    reactions: &Consumer,
    batch: &[Incoming],
) -> Result<usize, Stopped> {
    let consumer = reactions.name();
    let mut tx = database.begin().await?;
    let entries: Vec<Entry> = batch.iter().map(Incoming::entry).collect();
    let mut new = ledger::enter(&mut tx, consumer, &entries).await?;
    crashpoint::reach!("consume.ids_entered");
    let mut fresh: Vec<Incoming> = Vec::with_capacity(new.len());
    for incoming in batch {
        let id = incoming.envelope.id;
        // Taken out: the same id twice in one batch is entered once, and counts once.
        if new.remove(&id.uuid()) {
            fresh.push(incoming.clone());
        } else {
            tracing::info!(consumer, message_id = %id, kind = %incoming.envelope.kind, "DuplicateIgnored");
        }
    }
    if fresh.is_empty() {
        // Nothing to keep: whoever entered these ids has committed.
        tx.rollback().await?;
        return Ok(0);
    }
    let lines = fresh.iter().map(|incoming| incoming.entry().line);
    let sequences = Sequences::lock(&mut tx, consumer, lines).await?;
    let waiting = Waiting::behind(&mut tx, consumer, &fresh).await?;
    let whole: Vec<Incoming> = fresh.iter().chain(waiting.messages()).cloned().collect();
    reactions.lock(&mut tx, &whole).await?;
    let mut batch = Batch { reactions, sequences, waiting, applied: 0 };
    for incoming in fresh {
        batch.take(&mut tx, incoming).await?;
    }
    batch.sequences.store(&mut tx).await?;
    batch.waiting.store(&mut tx, consumer).await?;
    tx.flush().await?;
    crashpoint::reach!("consume.before_commit");
    tx.commit().await?;
    Ok(batch.applied)
}

/// The new messages of one transaction, under the locks of their aggregates.
struct Batch<'r> {
    reactions: &'r Consumer,
    sequences: Sequences,
    waiting: Waiting,
    applied: usize,
}

impl Batch<'_> {
    /// Does with one new message what its place in the aggregate's history says.
    async fn take(&mut self, tx: &mut Tx, incoming: Incoming) -> Result<(), Stopped> {
        let consumer = self.reactions.name();
        let Entry { line, sequence, .. } = incoming.entry();
        let last = self.sequences.last(&line);
        match self.sequences.place(&line, sequence) {
            Place::Duplicate => {
                tracing::info!(consumer, message_id = %incoming.envelope.id, sequence, "DuplicateIgnored");
            }
            Place::Later if self.reactions.take_the_newest(&incoming.envelope.kind) => {
                tracing::warn!(consumer, aggregate = %line.aggregate, sequence, last, "a gap in a projection: the newest is taken");
                self.react(tx, &incoming).await?;
            }
            Place::Later => {
                tracing::warn!(consumer, aggregate = %line.aggregate, sequence, last, "MessageHeld");
                self.waiting.put(incoming);
            }
            Place::Next => {
                self.react(tx, &incoming).await?;
                // What waited for it is next now.
                while let Some(held) = self.waiting.take(&line, self.sequences.last(&line) + 1) {
                    let done = self.react(tx, &held).await;
                    done.map_err(|failure| Stopped { failure, held: Some(held.entry()) })?;
                }
            }
        }
        Ok(())
    }

    async fn react(&mut self, tx: &mut Tx, incoming: &Incoming) -> Result<(), HandlerError> {
        react(tx, self.reactions, &mut self.sequences, incoming).await?;
        self.applied += 1;
        Ok(())
    }
}

/// Lets a message whose turn it is take effect, and moves its aggregate's sequence.
pub(crate) async fn react(
    tx: &mut Tx,
    reactions: &Consumer,
    sequences: &mut Sequences,
    incoming: &Incoming,
) -> Result<(), HandlerError> {
    let envelope = &incoming.envelope;
    tx.set_traceparent(envelope.traceparent.clone());
    if let Reaction::Next(react) | Reaction::Newest(react) = reactions.to(&envelope.kind)? {
        caught(react(tx, incoming)).await?;
        let consumer = reactions.name();
        tracing::info!(consumer, message_id = %envelope.id, kind = %envelope.kind, "MessageConsumed");
    }
    sequences.advance(&incoming.entry().line, envelope.sequence);
    Ok(())
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
