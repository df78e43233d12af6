//! What waits in one aggregate's history, under its lock.

use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::consumer::Prepared;
use crate::incoming::Line;
use crate::park::inbox_parked;
use crate::sequence::{Place, Sequences};
use crate::stored::{About, Stored};
use crate::{Consumer, HandlerError, park};

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
            Place::Later if about.kind().is_some_and(|kind| self.reactions.takes_newest(&kind)) => {
                Place::Next
            }
            place => place,
        }
    }

    /// Decodes a waiting message for its handler.
    pub(super) fn prepare(&self, stored: &Stored) -> Result<Prepared, HandlerError> {
        self.reactions.prepare(&stored.incoming()?)
    }

    /// Locks the rows that the handlers of these messages name, as a consumer does before it applies them.
    pub(super) async fn lock(&self, tx: &mut Tx, prepared: &mut [Prepared]) -> Result<(), HandlerError> {
        self.reactions.lock(tx, prepared).await
    }

    /// Runs the handler of a message.
    pub(super) async fn run(&self, tx: &mut Tx, prepared: Prepared) -> Result<(), HandlerError> {
        prepared.run(tx, self.reactions.name()).await
    }

    /// Applies a message whose turn it is. If it fails, nothing else is undone.
    pub(super) async fn try_apply(&mut self, tx: &mut Tx, stored: &Stored) -> Result<(), HandlerError> {
        let mut prepared = [self.prepare(stored)?];
        tx.savepoint(async |tx| {
            self.lock(tx, &mut prepared).await?;
            let [prepared] = prepared;
            self.run(tx, prepared).await?;
            // The handler's events are written here. Otherwise a failure to write them would undo the whole discard.
            Ok::<(), HandlerError>(tx.flush().await?)
        })
        .await?;
        self.count(&stored.about);
        Ok(())
    }

    /// Moves the history to this message, which waits no longer.
    pub(super) fn count(&mut self, about: &About) {
        self.skip_to(about.sequence);
        self.remove(about);
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
