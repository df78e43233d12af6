//! `Event`: the names and the aggregate of a type of event. `Stream`: the events of one service. `Message`: an event with its envelope.

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::names::is_name;
use crate::{Envelope, TenantId};

/// The events of one service: one topic, one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stream(&'static str);

impl Stream {
    /// The events that the service of this name publishes: 1 to 64 characters of `A-Za-z0-9._-`. In a constant, the compiler
    /// checks the name.
    ///
    /// ```compile_fail
    /// const TICKETS: envelope::Stream = envelope::Stream::of("ticket office");
    /// ```
    ///
    /// # Panics
    /// If the name is invalid.
    pub const fn of(service: &'static str) -> Self {
        assert!(is_name(service), "the name of a service is 1 to 64 characters of A-Z a-z 0-9 . _ -");
        Self(service)
    }

    /// The source's name, as in `ce_source`.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The topic it goes to, before an installation's prefix.
    pub fn topic(self) -> String {
        format!("{}.events", self.name())
    }
}

/// A type of event: its names on the wire, its aggregate and its key.
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Type and version on the wire, for instance `orders.OrderPlaced.v1`.
    const TYPE: &'static str;
    /// The stream that it is published on.
    const STREAM: Stream;
    /// The type of aggregate that has this history, for instance `order`.
    const AGGREGATE: &'static str;

    /// The id of the aggregate; unique in its stream, over all tenants and types of aggregate.
    fn aggregate(&self) -> Uuid;

    /// The partition key, which is the aggregate's id unless the event says otherwise. Messages with the same key stay in order.
    fn key(&self) -> Uuid {
        self.aggregate()
    }
}

/// An event as a handler receives it: data and envelope.
#[derive(Debug, Clone)]
pub struct Message<E> {
    /// The attributes of the message.
    pub envelope: Envelope,
    /// The event.
    pub data: E,
}

impl<E> Message<E> {
    /// The tenant whose data it is.
    pub fn tenant(&self) -> &TenantId {
        &self.envelope.tenant
    }
}

impl<E> std::ops::Deref for Message<E> {
    type Target = E;
    fn deref(&self) -> &E {
        &self.data
    }
}
