//! The registration of handlers: what a service does with messages of which type, and which rows it locks for them.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::from_utf8;
use std::sync::Arc;

use database::{Handler, Tx, UnitOfWork, Work};
use envelope::{Envelope, Event, Message, Stream, header};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use messaging::ReceivedMessage;
use tracing::{Instrument, Span, info_span};
use uuid::Uuid;

use crate::HandlerError;
use crate::error::catch_panic;
use crate::locks::{LockKeys, Locks};
use crate::message::{AggregateRef, IncomingMessage};
use crate::parking::WaitingRow;

type Prepare = Arc<dyn Fn(&IncomingMessage) -> Result<Prepared, HandlerError> + Send + Sync>;
type Run = Box<dyn for<'a> FnOnce(&'a mut Tx) -> BoxFuture<'a, Result<(), HandlerError>> + Send>;
type Lock =
    Arc<dyn for<'a> Fn(&'a Tx, &'a mut LockKeys) -> BoxFuture<'a, Result<(), HandlerError>> + Send + Sync>;
type Warn = Arc<
    dyn for<'a> Fn(&'a mut Tx, &'a DiscardedMessage) -> BoxFuture<'a, Result<Vec<String>, HandlerError>>
        + Send
        + Sync,
>;

/// A type of message that a consumer has registered.
#[derive(Clone)]
struct Registered {
    stream: Stream,
    /// The type of the aggregate. Messages of several types can be in the history of one aggregate.
    aggregate: &'static str,
    handling: Handling,
}

/// How a consumer handles a message.
#[derive(Clone)]
enum Handling {
    /// Handles each message in the order of its aggregate.
    Next(Prepare),
    /// Handles each message that is newer than the last one; a gap before it does not hold it.
    Newest(Prepare),
    /// Does nothing. The message still counts in the history of its aggregate.
    Ignore,
}

/// A decoded message: the rows to lock before its handler runs, and the handler's call. An ignored message has neither.
pub(crate) struct Prepared {
    envelope: Envelope,
    keys: LockKeys,
    run: Option<Run>,
}

impl Prepared {
    /// The rows that the handler needs locked. Call it once.
    pub(crate) fn take_keys(&mut self) -> LockKeys {
        std::mem::take(&mut self.keys)
    }

    /// Runs the handler. A panic in it is an error of this message.
    pub(crate) async fn run(self, tx: &mut Tx, consumer: &str) -> Result<(), HandlerError> {
        let Some(run) = self.run else { return Ok(()) };
        let span = message_span(&self.envelope, consumer);
        traces::link(&Span::current(), &span);
        tx.set_traceparent(self.envelope.traceparent);
        let handled = async {
            catch_panic(run(tx)).await?;
            tracing::info!("MessageConsumed");
            Ok(())
        };
        handled.instrument(span).await
    }
}

/// The span of a message's handling. It continues the trace in which the message was published.
pub(crate) fn message_span(envelope: &Envelope, consumer: &str) -> Span {
    let Envelope { id, kind, tenant, traceparent, .. } = envelope;
    let trace = traceparent.as_deref().and_then(traces::trace_id);
    let span = info_span!(parent: None, "message", consumer, message_id = %id, kind, %tenant, trace);
    traces::follow(&span, traceparent.as_deref());
    span
}

/// One named reader of events, with a handler for each type. A handler gets the transaction only after the message was
/// entered in the inbox, so that it takes effect once.
#[derive(Clone)]
pub struct Consumer {
    name: &'static str,
    streams: Vec<Stream>,
    handlers: HashMap<&'static str, Registered>,
    lock: Option<Lock>,
    warn: Option<Warn>,
}

/// A message that an operator discards. Its payload may be unreadable.
#[derive(Debug, Clone)]
pub struct DiscardedMessage {
    /// The service that published it.
    pub source: String,
    /// The id of its aggregate.
    pub aggregate: Uuid,
    kind: Option<String>,
}

impl DiscardedMessage {
    pub(crate) fn of(row: &WaitingRow) -> Self {
        let AggregateRef { source, id } = row.aggregate();
        Self { source, aggregate: id, kind: row.kind() }
    }

    /// Returns whether its headers name this type.
    pub fn is<E: Event>(&self) -> bool {
        self.kind.as_deref() == Some(E::TYPE)
    }
}

impl Consumer {
    /// A consumer without handlers. The name keys its rows in the inbox and its group on Kafka, so it must never change.
    pub fn of(name: &'static str) -> Self {
        Self { name, streams: Vec::new(), handlers: HashMap::new(), lock: None, warn: None }
    }

    /// Handles each message of this type, in the order of its aggregate. `locks` names the rows that must be locked
    /// before the handler runs; [`no_locks`](crate::no_locks) names none.
    ///
    /// # Panics
    ///
    /// If the type is registered already, or another type of its aggregate is registered with [`newest`](Self::newest).
    #[must_use]
    pub fn on<E: Event>(
        self,
        locks: impl Locks<E>,
        handler: impl Handler<Tx, Message<E>, Result<(), HandlerError>>,
    ) -> Self {
        self.with::<E>(Handling::Next(preparing(locks, handler)))
    }

    /// Handles messages that carry a whole state: newer wins, stale ones are skipped, a gap is logged.
    ///
    /// # Panics
    ///
    /// If the type is registered already, or another type of its aggregate is registered with [`on`](Self::on): of two that need
    /// different orders, one would lose messages.
    #[must_use]
    pub fn newest<E: Event>(
        self,
        locks: impl Locks<E>,
        handler: impl Handler<Tx, Message<E>, Result<(), HandlerError>>,
    ) -> Self {
        self.with::<E>(Handling::Newest(preparing(locks, handler)))
    }

    /// Ignores messages of this type. A message whose type is neither handled nor ignored is parked.
    ///
    /// # Panics
    ///
    /// If the type is registered already.
    #[must_use]
    pub fn ignoring<E: Event>(self) -> Self {
        self.with::<E>(Handling::Ignore)
    }

    /// Locks the rows that the handlers of a batch name. Called once a batch, before the first handler runs, unless
    /// no row is named. The function takes out every kind of row that it locks ([`LockKeys::take`]).
    #[must_use]
    pub fn locking<F>(mut self, lock: F) -> Self
    where
        for<'t, 'k> F: AsyncFnOnce(&'t Tx, &'k mut LockKeys) -> Result<(), HandlerError>
            + Work<&'t Tx, &'k mut LockKeys, Result<(), HandlerError>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.lock = Some(Arc::new(move |tx, keys| {
            let lock = lock.clone();
            async move { lock(tx, keys).await }.boxed()
        }));
        self
    }

    /// Reports what stays open when a message is discarded: one warning for each order, reservation or payment that
    /// does not end by itself. Called after the messages held behind it were applied.
    #[must_use]
    pub fn warning(
        mut self,
        warn: impl Handler<Tx, DiscardedMessage, Result<Vec<String>, HandlerError>>,
    ) -> Self {
        self.warn = Some(Arc::new(move |tx, discarded| warn.clone().run(tx, discarded)));
        self
    }

    fn with<E: Event>(mut self, handling: Handling) -> Self {
        let (name, kind) = (self.name, E::TYPE);
        let new = Registered { stream: E::STREAM, aggregate: E::AGGREGATE, handling };
        let is_mixed = self.related(&new).any(|other| {
            matches!(
                (&other.handling, &new.handling),
                (Handling::Next(_), Handling::Newest(_)) | (Handling::Newest(_), Handling::Next(_))
            )
        });
        assert!(!is_mixed, "consumer {name}: {kind} and another type of its aggregate need different orders");
        if !self.streams.contains(&E::STREAM) {
            self.streams.push(E::STREAM);
        }
        let earlier = self.handlers.insert(kind, new);
        assert!(earlier.is_none(), "consumer {name} registers {kind} twice");
        self
    }

    /// The types whose messages are in the same histories.
    fn related(&self, one: &Registered) -> impl Iterator<Item = &Registered> {
        let of = (one.stream, one.aggregate);
        self.handlers.values().filter(move |other| (other.stream, other.aggregate) == of)
    }

    /// The consumer's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The streams that it reads.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Returns whether a gap before a message of this type does not hold it: no type of its aggregate is handled in order.
    pub(crate) fn skips_gaps(&self, kind: &str) -> bool {
        let in_order = |one: &Registered| matches!(one.handling, Handling::Next(_));
        self.handlers.get(kind).is_some_and(|one| !self.related(one).any(in_order))
    }

    /// Returns whether it ignores the type of this message.
    pub(crate) fn ignores(&self, received: &ReceivedMessage) -> bool {
        let kind = received.header(header::TYPE).and_then(|kind| from_utf8(kind).ok());
        let registered = kind.and_then(|kind| self.handlers.get(kind));
        registered.is_some_and(|one| matches!(one.handling, Handling::Ignore))
    }

    /// Decodes a message for its handler.
    pub(crate) fn prepare(&self, incoming: &IncomingMessage) -> Result<Prepared, HandlerError> {
        let Envelope { kind, .. } = &incoming.envelope;
        match self.handlers.get(kind.as_str()).map(|registered| &registered.handling) {
            None => Err(HandlerError::UnknownType(kind.clone())),
            Some(Handling::Ignore) => {
                Ok(Prepared { envelope: incoming.envelope.clone(), keys: LockKeys::default(), run: None })
            }
            Some(Handling::Next(prepare) | Handling::Newest(prepare)) => {
                catch_unwind(AssertUnwindSafe(|| prepare(incoming))).unwrap_or(Err(HandlerError::Panicked))
            }
        }
    }

    /// Locks the rows that these messages need. Fails if the lock function leaves a kind of row out.
    pub(crate) async fn lock(&self, tx: &Tx, prepared: &mut [Prepared]) -> Result<(), HandlerError> {
        let mut keys = LockKeys::default();
        for message in prepared.iter_mut() {
            keys.add(message.take_keys());
        }
        if keys.is_empty() {
            return Ok(());
        }
        if let Some(lock) = &self.lock {
            catch_panic(lock(tx, &mut keys)).await?;
        }
        if keys.is_empty() {
            return Ok(());
        }
        let (consumer, kinds) = (self.name, keys.kinds().join(", "));
        Err(HandlerError::Refused(format!("consumer {consumer} does not lock rows of kind {kinds}")))
    }

    pub(crate) async fn warnings(
        &self,
        tx: &mut Tx,
        discarded: &DiscardedMessage,
    ) -> Result<Vec<String>, HandlerError> {
        let Some(warn) = &self.warn else { return Ok(Vec::new()) };
        tx.flush().await?; // the handlers' changes, so that every statement finds them
        warn(tx, discarded).await
    }
}

fn preparing<E: Event>(
    locks: impl Locks<E>,
    handler: impl Handler<Tx, Message<E>, Result<(), HandlerError>>,
) -> Prepare {
    Arc::new(move |incoming| {
        let (message, handler) = (incoming.decode::<E>()?, handler.clone());
        let (envelope, keys) = (message.envelope.clone(), locks(&message));
        let run: Run = Box::new(move |tx| async move { handler.run(tx, &message).await }.boxed());
        Ok(Prepared { envelope, keys, run: Some(run) })
    })
}
