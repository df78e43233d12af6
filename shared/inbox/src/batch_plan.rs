//! `BatchPlan`: decides for each message of a batch whether it is applied, held, parked or a duplicate. Reads and writes no table.

use crate::HandlerError;
use crate::consumer::Consumer;
use crate::error::{BatchError, Cause};
use crate::message::{Arrival, InboxEntry, IncomingMessage, UNKNOWN_SEQUENCE};
use crate::parking::held::HeldMessages;
use crate::sequence::{SequencePosition, Sequences};

/// A message to apply now.
pub(crate) struct ReadyMessage {
    pub(crate) message: IncomingMessage,
    /// True if the message had been held until now.
    pub(crate) was_held: bool,
}

impl ReadyMessage {
    pub(crate) fn batch_error(&self, error: HandlerError) -> BatchError {
        BatchError { cause: self.cause(), in_handler: true, ..error.into() }
    }

    pub(crate) fn cause(&self) -> Cause {
        let entry = self.message.entry();
        if self.was_held { Cause::Held(entry) } else { Cause::Received(entry.id) }
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
pub(crate) struct BatchPlan<'b> {
    /// The messages to apply, in order.
    pub(crate) ready: Vec<ReadyMessage>,
    /// Messages whose number was applied before.
    pub(crate) repeated: Vec<InboxEntry>,
    /// Messages that wait for an earlier one.
    pub(crate) held: Vec<InboxEntry>,
    /// Messages that cannot be applied, and are no duplicates.
    pub(crate) parked: Vec<&'b Arrival<'b>>,
    /// The number of gaps that were skipped, because no type of their aggregate is handled in order.
    pub(crate) skipped_gaps: usize,
}

/// Decides which messages are applied, in which order, and which are held. Advances the sequences past the messages to
/// apply, because a handler that fails rolls the whole transaction back.
pub(crate) fn plan<'b>(
    consumer: &Consumer,
    fresh: Vec<&'b Arrival<'b>>,
    sequences: &mut Sequences,
    held: &mut HeldMessages,
) -> BatchPlan<'b> {
    let name = consumer.name();
    let mut plan = BatchPlan {
        ready: Vec::with_capacity(fresh.len()),
        repeated: Vec::new(),
        held: Vec::new(),
        parked: Vec::new(),
        skipped_gaps: 0,
    };
    for arrival in fresh {
        let InboxEntry { aggregate, sequence, .. } = arrival.entry.clone();
        let last = sequences.last(&aggregate);
        let position = sequences.position(&aggregate, sequence);
        let message = match &arrival.message {
            Ok(message) => message.clone(),
            // It was applied or discarded before its id was deleted. It must not be parked again.
            Err(error) if position == SequencePosition::Duplicate && has_number(sequence, error) => {
                let id = arrival.entry.id;
                tracing::warn!(consumer = name, message_id = %id, sequence, failure = %error, "DuplicateIgnored");
                continue;
            }
            Err(_) => {
                plan.parked.push(arrival);
                continue;
            }
        };
        match position {
            SequencePosition::Duplicate => {
                plan.repeated.push(arrival.entry.clone());
                continue;
            }
            SequencePosition::Later if consumer.skips_gaps(&message.envelope.kind) => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "GapSkipped");
                plan.skipped_gaps += 1;
            }
            SequencePosition::Later => {
                tracing::warn!(consumer = name, aggregate = %aggregate.id, sequence, last, "MessageHeld");
                plan.held.push(arrival.entry.clone());
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

/// Returns whether this number is the message's own: its headers name one, and no other message had it before.
fn has_number(sequence: i64, error: &HandlerError) -> bool {
    sequence != UNKNOWN_SEQUENCE && !matches!(error, HandlerError::SecondHistory(_))
}
