//! `BatchPlan`: decides for each message of a batch whether it is applied, held or a duplicate. Reads and writes no table.

use crate::HandlerError;
use crate::consumer::Consumer;
use crate::error::BatchError;
use crate::message::{InboxEntry, IncomingMessage};
use crate::parking::held::HeldMessages;
use crate::sequence::{SequencePosition, Sequences};

/// A message to apply now.
pub(crate) struct ReadyMessage {
    pub(crate) message: IncomingMessage,
    /// True if the message had been held until now.
    was_held: bool,
}

impl ReadyMessage {
    pub(crate) fn batch_error(&self, error: HandlerError) -> BatchError {
        let held = self.was_held.then(|| self.message.entry());
        BatchError { held, in_handler: true, ..error.into() }
    }
}

/// How the messages of a transaction are locked and written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Steps {
    Together,
    /// Not in sorted order. A deadlock is possible, and is transient.
    OneByOne,
}

/// The decisions about the messages of a batch.
pub(crate) struct BatchPlan {
    /// The messages to apply, in order.
    pub(crate) ready: Vec<ReadyMessage>,
    /// Messages whose number was applied before.
    pub(crate) repeated: Vec<InboxEntry>,
    /// Messages that wait for an earlier one.
    pub(crate) held: Vec<InboxEntry>,
    /// The number of gaps that were skipped, because no type of their aggregate is handled in order.
    pub(crate) skipped_gaps: usize,
}

/// Decides which messages are applied, in which order, and which are held. Advances the sequences past the messages to
/// apply, because a handler that fails rolls the whole transaction back.
pub(crate) fn plan(
    consumer: &Consumer,
    fresh: Vec<IncomingMessage>,
    sequences: &mut Sequences,
    held: &mut HeldMessages,
) -> BatchPlan {
    let name = consumer.name();
    let mut plan = BatchPlan {
        ready: Vec::with_capacity(fresh.len()),
        repeated: Vec::new(),
        held: Vec::new(),
        skipped_gaps: 0,
    };
    for message in fresh {
        let InboxEntry { aggregate, sequence, .. } = message.entry();
        let last = sequences.last(&aggregate);
        match sequences.position(&aggregate, sequence) {
            SequencePosition::Duplicate => {
                plan.repeated.push(message.entry());
                continue;
            }
            SequencePosition::Later if consumer.skips_gaps(&message.envelope.kind) => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "GapSkipped");
                plan.skipped_gaps += 1;
            }
            SequencePosition::Later => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "MessageHeld");
                plan.held.push(message.entry());
                held.add(message);
                continue;
            }
            SequencePosition::Next => {}
        }
        sequences.advance(&aggregate, sequence);
        plan.ready.push(ReadyMessage { message, was_held: false });
        while let Some(message) = held.release(&aggregate, sequences.last(&aggregate) + 1) {
            sequences.advance(&aggregate, message.envelope.sequence);
            plan.ready.push(ReadyMessage { message, was_held: true });
        }
    }
    plan
}
