//! The waiting messages of one aggregate, under the lock of its sequence.

use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::consumer::Prepared;
use crate::message::AggregateRef;
use crate::parking::{WaitingMessage, WaitingRow, inbox_parked};
use crate::sequence::{SequencePosition, Sequences};
use crate::{Consumer, HandlerError, parking};

/// The waiting messages of one aggregate. The transaction that opened it excludes consumers and other operators.
pub(super) struct History<'c> {
    consumer: &'c Consumer,
    pub(super) aggregate: AggregateRef,
    sequences: Sequences,
    /// Sorted by sequence, then by offset.
    pub(super) waiting: Vec<WaitingMessage>,
    removed: Vec<Uuid>,
}

impl<'c> History<'c> {
    /// Locks the aggregate's sequence as a consumer does, and then reads the waiting messages. In this order, because
    /// the read must see what the previous holder of the lock has committed.
    pub(super) async fn open(
        tx: &mut Tx,
        consumer: &'c Consumer,
        aggregate: AggregateRef,
    ) -> database::Result<Self> {
        let sequences = Sequences::lock(tx, consumer.name(), [aggregate.clone()]).await?;
        let waiting = inbox_parked::table
            .filter(inbox_parked::consumer.eq(consumer.name()))
            .filter(inbox_parked::source.eq(&aggregate.source))
            .filter(inbox_parked::aggregate_id.eq(aggregate.id))
            .order((inbox_parked::sequence, inbox_parked::record_offset))
            .select(WaitingMessage::as_select())
            .load(tx)
            .await?;
        Ok(Self { consumer, aggregate, sequences, waiting, removed: Vec::new() })
    }

    pub(super) fn consumer(&self) -> &'static str {
        self.consumer.name()
    }

    /// The sequence of the aggregate's next message.
    pub(super) fn next(&self) -> i64 {
        self.sequences.last(&self.aggregate) + 1
    }

    /// Where this message is in the history. A projection that takes the newest message does not wait for a gap.
    pub(super) fn position(&self, row: &WaitingRow) -> SequencePosition {
        match self.sequences.position(&self.aggregate, row.sequence) {
            SequencePosition::Later if row.kind().is_some_and(|kind| self.consumer.skips_gaps(&kind)) => {
                SequencePosition::Next
            }
            position => position,
        }
    }

    /// Decodes a waiting message for its handler.
    pub(super) fn prepare(&self, message: &WaitingMessage) -> Result<Prepared, HandlerError> {
        self.consumer.prepare(&message.decode_headers()?)
    }

    /// Locks the rows that the handlers of these messages name, as a consumer does before it applies them.
    pub(super) async fn lock(&self, tx: &Tx, prepared: &mut [Prepared]) -> Result<(), HandlerError> {
        self.consumer.lock(tx, prepared).await
    }

    /// Runs the handler of a message.
    pub(super) async fn run(&self, tx: &mut Tx, prepared: Prepared) -> Result<(), HandlerError> {
        prepared.run(tx, self.consumer.name()).await
    }

    /// Applies the next message. If it fails, only its own effects are undone.
    pub(super) async fn try_apply(
        &mut self,
        tx: &mut Tx,
        message: &WaitingMessage,
    ) -> Result<(), HandlerError> {
        let mut prepared = [self.prepare(message)?];
        tx.savepoint(async |tx| {
            self.lock(tx, &mut prepared).await?;
            let [prepared] = prepared;
            self.run(tx, prepared).await?;
            // The handler's events are written here. Otherwise a failure to write them would undo the whole discard.
            Ok::<(), HandlerError>(tx.flush().await?)
        })
        .await?;
        self.mark_applied(&message.row);
        Ok(())
    }

    /// Advances the history to this message and removes the message from the waiting ones.
    pub(super) fn mark_applied(&mut self, row: &WaitingRow) {
        self.skip_to(row.sequence);
        self.remove(row);
    }

    /// Advances the history to this sequence.
    pub(super) fn skip_to(&mut self, sequence: i64) {
        self.sequences.advance(&self.aggregate, sequence);
    }

    /// Removes the message from the waiting ones.
    pub(super) fn remove(&mut self, row: &WaitingRow) {
        self.removed.push(row.message_id);
    }

    /// Writes the sequence, deletes the removed messages, and writes the events of the handlers.
    pub(super) async fn store(self, tx: &mut Tx) -> database::Result<()> {
        self.sequences.store(tx);
        parking::remove(tx, self.consumer.name(), &self.removed).await?;
        tx.flush().await
    }
}
