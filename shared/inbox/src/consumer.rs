//! What a service does about which message.

use std::collections::HashMap;
use std::sync::Arc;

use contracts::{Event, Message, Stream};
use database::{Tx, Work};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::failure::caught;
use crate::incoming::Line;
use crate::stored::About;
use crate::{HandlerError, Incoming};

type React =
    Arc<dyn for<'a> Fn(&'a mut Tx, &'a Incoming) -> BoxFuture<'a, Result<(), HandlerError>> + Send + Sync>;
type Lock =
    Arc<dyn for<'a> Fn(&'a mut Tx, &'a [Incoming]) -> BoxFuture<'a, Result<(), HandlerError>> + Send + Sync>;
type Warn = Arc<
    dyn for<'a> Fn(&'a mut Tx, &'a DiscardedMessage) -> BoxFuture<'a, Result<Vec<String>, HandlerError>>
        + Send
        + Sync,
>;

/// What to do about one type of message.
#[derive(Clone)]
pub(crate) enum Reaction {
    /// Exactly the next of its aggregate.
    Next(React),
    /// Anything newer than what was seen.
    Newest(React),
    /// Nothing, on purpose; it still counts in its aggregate's history.
    Ignore,
}

/// The reactions of one consumer. A message's transaction is handed to its reaction only after the message was
/// entered in the inbox, so a reaction cannot run twice.
#[derive(Clone)]
pub struct Consumer {
    consumer: &'static str,
    streams: Vec<Stream>,
    by_type: HashMap<&'static str, Reaction>,
    lock: Option<Lock>,
    warn: Option<Warn>,
}

/// A message that somebody has decided to give up. It may be one that nobody can read.
#[derive(Debug, Clone)]
pub struct DiscardedMessage {
    /// Who said it.
    pub source: String,
    /// Whose history it belongs to.
    pub aggregate: Uuid,
    kind: Option<String>,
}

impl DiscardedMessage {
    pub(crate) fn of(about: &About) -> Self {
        let Line { source, aggregate } = about.line();
        Self { source, aggregate, kind: about.kind() }
    }

    /// Whether it says that it is of this type.
    pub fn is<E: Event>(&self) -> bool {
        self.kind.as_deref() == Some(E::TYPE)
    }
}

impl Consumer {
    /// The reactions of the consumer with this name; the name is its memory, so it must never change.
    pub fn of(consumer: &'static str) -> Self {
        Self { consumer, streams: Vec::new(), by_type: HashMap::new(), lock: None, warn: None }
    }

    /// Reacts to each message of this type, in the order of its aggregate.
    #[must_use]
    pub fn on<E: Event, F>(self, react: F) -> Self
    where
        for<'t, 'm> F: AsyncFnOnce(&'t mut Tx, &'m Message<E>) -> Result<(), HandlerError>
            + Work<&'t mut Tx, &'m Message<E>, Result<(), HandlerError>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.with::<E>(Reaction::Next(reading(react)))
    }

    /// Reacts to messages that carry a whole state: newer wins, stale ones are skipped, gaps are counted.
    #[must_use]
    pub fn newest<E: Event, F>(self, react: F) -> Self
    where
        for<'t, 'm> F: AsyncFnOnce(&'t mut Tx, &'m Message<E>) -> Result<(), HandlerError>
            + Work<&'t mut Tx, &'m Message<E>, Result<(), HandlerError>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.with::<E>(Reaction::Newest(reading(react)))
    }

    /// Does nothing about this type. A type that is neither reacted to nor ignored is parked.
    #[must_use]
    pub fn ignoring<E: Event>(self) -> Self {
        self.with::<E>(Reaction::Ignore)
    }

    /// Takes all row locks of a batch, before its reactions run: in one statement, sorted.
    #[must_use]
    pub fn locking<F>(mut self, lock: F) -> Self
    where
        for<'t, 'm> F: AsyncFnOnce(&'t mut Tx, &'m [Incoming]) -> Result<(), HandlerError>
            + Work<&'t mut Tx, &'m [Incoming], Result<(), HandlerError>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.lock = Some(Arc::new(move |tx, batch| {
            let lock = lock.clone();
            async move { lock(tx, batch).await }.boxed()
        }));
        self
    }

    /// Says what stays open once a message is discarded, and what was held behind it has taken effect: a line for each
    /// thing that will not end by itself.
    #[must_use]
    pub fn warning<F>(mut self, warn: F) -> Self
    where
        for<'t, 'm> F: AsyncFnOnce(&'t mut Tx, &'m DiscardedMessage) -> Result<Vec<String>, HandlerError>
            + Work<&'t mut Tx, &'m DiscardedMessage, Result<Vec<String>, HandlerError>, Fut: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.warn = Some(Arc::new(move |tx, discarded| {
            let warn = warn.clone();
            async move { warn(tx, discarded).await }.boxed()
        }));
        self
    }

    fn with<E: Event>(mut self, reaction: Reaction) -> Self {
        if !self.streams.contains(&E::STREAM) {
            self.streams.push(E::STREAM);
        }
        self.by_type.insert(E::TYPE, reaction);
        self
    }

    /// The consumer's name.
    pub fn name(&self) -> &'static str {
        self.consumer
    }

    /// Whose events it listens to.
    pub fn streams(&self) -> &[Stream] {
        &self.streams
    }

    pub(crate) fn to(&self, kind: &str) -> Result<&Reaction, HandlerError> {
        self.by_type.get(kind).ok_or_else(|| HandlerError::UnknownType(kind.to_owned()))
    }

    /// Whether a gap in front of a message of this type is no reason to wait.
    pub(crate) fn take_the_newest(&self, kind: &str) -> bool {
        matches!(self.by_type.get(kind), Some(Reaction::Newest(_)))
    }

    pub(crate) async fn lock(&self, tx: &mut Tx, batch: &[Incoming]) -> Result<(), HandlerError> {
        match &self.lock {
            Some(lock) => caught(lock(tx, batch)).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn warnings(
        &self,
        tx: &mut Tx,
        discarded: &DiscardedMessage,
    ) -> Result<Vec<String>, HandlerError> {
        match &self.warn {
            Some(warn) => warn(tx, discarded).await,
            None => Ok(Vec::new()),
        }
    }
}

fn reading<E: Event, F>(react: F) -> React
where
    for<'t, 'm> F: AsyncFnOnce(&'t mut Tx, &'m Message<E>) -> Result<(), HandlerError>
        + Work<&'t mut Tx, &'m Message<E>, Result<(), HandlerError>, Fut: Send>
        + Clone
        + Send
        + Sync
        + 'static,
{
    Arc::new(move |tx, incoming| {
        let react = react.clone();
        async move {
            let message = incoming.message::<E>()?;
            react(tx, &message).await
        }
        .boxed()
    })
}
