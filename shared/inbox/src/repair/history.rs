//! The waiting messages of one aggregate, under the lock of its sequence.

use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

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
    /// Whether a message of it was applied, parked or removed.
    pub(super) is_changed: bool,
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
        Ok(Self { consumer, aggregate, sequences, waiting, removed: Vec::new(), is_changed: false })
    }

    pub(super) fn consumer(&self) -> &'static str {
        self.consumer.name()
    }

    /// The sequence of the aggregate's next message.
    pub(super) fn next(&self) -> i64 {
        self.sequences.last(&self.aggregate) + 1
    }

    /// Where this message is in the history. A projection that takes the newest message does not wait for a gap. Of two waiting
    /// messages with one number the first one has it, and the second one is a duplicate.
    pub(super) fn position(&self, row: &WaitingRow) -> SequencePosition {
        match self.sequences.position(&self.aggregate, row.sequence) {
            _ if self.first_with_number(row.sequence) != Some(row.message_id) => SequencePosition::Duplicate,
            SequencePosition::Later if row.kind().is_some_and(|kind| self.consumer.skips_gaps(&kind)) => {
                SequencePosition::Next
            }
            position => position,
        }
    }

    fn first_with_number(&self, sequence: i64) -> Option<Uuid> {
        let mut rows = self.waiting.iter().map(|message| &message.row);
        rows.find(|row| row.has_number(sequence)).map(|row| row.message_id)
    }

    /// Applies the next message, and writes: a constraint may refuse a row, and the error is that of this message.
    pub(super) async fn apply(&mut self, tx: &mut Tx, message: &WaitingMessage) -> Result<(), HandlerError> {
        let mut prepared = [self.consumer.prepare(&message.decode_headers()?)?];
        self.consumer.lock(tx, &mut prepared).await?;
        let [prepared] = prepared;
        prepared.run(tx, self.consumer.name()).await?;
        tx.flush().await?;
        self.skip_to(message.row.sequence);
        self.remove(&message.row);
        Ok(())
    }

    /// Advances the history to this sequence.
    pub(super) fn skip_to(&mut self, sequence: i64) {
        self.sequences.advance(&self.aggregate, sequence);
    }

    /// Removes the message from the waiting ones.
    pub(super) fn remove(&mut self, row: &WaitingRow) {
        self.removed.push(row.message_id);
        self.is_changed = true;
    }

    /// Writes the sequence with the rows of the transaction, and deletes the removed messages.
    pub(super) async fn store(self, tx: &mut Tx) -> database::Result<()> {
        self.sequences.store(tx);
        parking::remove(tx, self.consumer.name(), &self.removed).await
    }
}
