//! What waits in one aggregate's history, under its lock.

use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::incoming::{Incoming, Line};
use crate::park::inbox_parked;
use crate::sequence::{Place, Sequences};
use crate::stored::{About, Stored};
use crate::{Consumer, HandlerError, apply, park};

/// The waiting messages of one aggregate, as one source tells its history. Whoever has it open, has it alone.
pub(super) struct History<'d> {
    reactions: &'d Consumer,
    pub(super) line: Line,
    sequences: Sequences,
    /// In order.
    pub(super) waiting: Vec<Stored>,
    over: Vec<Uuid>,
}

impl<'d> History<'d> {
    /// Locks the aggregate's sequence, as a consumer does, and then reads what waits: in this order, because it must
    /// see what the one who held the lock has committed.
    pub(super) async fn open(tx: &mut Tx, reactions: &'d Consumer, line: Line) -> database::Result<Self> {
        let consumer = reactions.name();
        let sequences = Sequences::lock(tx, consumer, [line.clone()]).await?;
        let waiting = inbox_parked::table
            .filter(inbox_parked::consumer.eq(consumer))
            .filter(inbox_parked::source.eq(&line.source))
            .filter(inbox_parked::aggregate_id.eq(line.aggregate))
            .order((inbox_parked::sequence, inbox_parked::record_offset))
            .select(Stored::as_select())
            .load(tx)
            .await?;
        Ok(Self { reactions, line, sequences, waiting, over: Vec::new() })
    }

    pub(super) fn consumer(&self) -> &'static str {
        self.reactions.name()
    }

    /// The number that the aggregate's next message has.
    pub(super) fn next(&self) -> i64 {
        self.sequences.last(&self.line) + 1
    }

    /// What this message is to the history. A gap in a projection is no reason to wait.
    pub(super) fn place(&self, about: &About) -> Place {
        match self.sequences.place(&self.line, about.sequence) {
            Place::Later if about.kind().is_some_and(|kind| self.reactions.take_the_newest(&kind)) => {
                Place::Next
            }
            place => place,
        }
    }

    /// The messages that follow one another without a gap, as far as they can be read: what a redrive may come to.
    pub(super) fn suffix(&self) -> Vec<Incoming> {
        let mut next = self.next();
        let mut suffix = Vec::new();
        for stored in &self.waiting {
            if stored.about.sequence == next
                && let Ok(incoming) = stored.incoming()
            {
                suffix.push(incoming);
                next += 1;
            }
        }
        suffix
    }

    /// Takes the locks of these messages, as a consumer does before it applies them.
    pub(super) async fn lock(&self, tx: &mut Tx, messages: &[Incoming]) -> Result<(), HandlerError> {
        self.reactions.lock(tx, messages).await
    }

    /// Applies a message whose turn it is.
    pub(super) async fn apply(&mut self, tx: &mut Tx, incoming: &Incoming) -> Result<(), HandlerError> {
        apply::react(tx, self.reactions, &mut self.sequences, incoming).await?;
        self.over.push(incoming.envelope.id.uuid());
        Ok(())
    }

    /// Applies a message so that its failure undoes what it did and nothing else.
    pub(super) async fn try_apply(&mut self, tx: &mut Tx, incoming: &Incoming) -> Result<(), HandlerError> {
        let (last, over) = (self.sequences.last(&self.line), self.over.len());
        let tried = tx
            .savepoint(async |tx| {
                self.lock(tx, std::slice::from_ref(incoming)).await?;
                self.apply(tx, incoming).await?;
                // What it has told is written here: refused later, it would take everything with it.
                Ok::<(), HandlerError>(tx.flush().await?)
            })
            .await;
        if tried.is_err() {
            self.sequences.advance(&self.line, last);
            self.over.truncate(over);
        }
        tried
    }

    /// Counts everything up to this number as dealt with.
    pub(super) fn skip_to(&mut self, sequence: i64) {
        self.sequences.advance(&self.line, sequence);
    }

    /// The message waits no longer.
    pub(super) fn remove(&mut self, about: &About) {
        self.over.push(about.message_id);
    }

    /// Writes down how far the history is, who waits no longer, and everything that its messages have told.
    pub(super) async fn store(self, tx: &mut Tx) -> database::Result<()> {
        self.sequences.store(tx).await?;
        park::remove(tx, self.reactions.name(), &self.over).await?;
        tx.flush().await
    }
}
