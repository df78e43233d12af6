//! The headers of every message: CloudEvents 1.0 attributes in the binary mode of its Kafka binding.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use crate::names::is_name;
use crate::{EventId, TenantId, Timestamp};

/// Names of the record headers.
pub mod header {
    /// The event's id; consumers use it for deduplication.
    pub const ID: &str = "ce_id";
    /// Type and version, for instance `orders.OrderPlaced.v1`.
    pub const TYPE: &str = "ce_type";
    /// The service that publishes it.
    pub const SOURCE: &str = "ce_source";
    /// The aggregate's id.
    pub const SUBJECT: &str = "ce_subject";
    /// The event's number in the aggregate's history, from 1 without gaps.
    pub const SEQUENCE: &str = "ce_sequence";
    /// When it was written, RFC 3339.
    pub const TIME: &str = "ce_time";
    /// The tenant whose data it is.
    pub const TENANT: &str = "ce_tenant";
    /// W3C trace context of the request or message that caused it.
    pub const TRACEPARENT: &str = "traceparent";
}

/// The events of one service: one topic, one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stream {
    /// Published by `orders`.
    Orders,
    /// Published by `inventory`.
    Inventory,
    /// Published by `payments`.
    Payments,
}

impl Stream {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Orders, Self::Inventory, Self::Payments];

    /// The source's name, as in `ce_source`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Inventory => "inventory",
            Self::Payments => "payments",
        }
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
    /// The type of aggregate that has this history: `order`, `reservation`, `item`, `payment`.
    const AGGREGATE: &'static str;

    /// The id of the aggregate; unique over all tenants.
    fn aggregate(&self) -> Uuid;

    /// The partition key. Messages with the same key stay in order: the order's id if there is an order.
    fn key(&self) -> Uuid;
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

/// The attributes of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The event's id.
    pub id: EventId,
    /// Type and version.
    pub kind: String,
    /// The service that publishes it.
    pub source: String,
    /// The aggregate's id.
    pub aggregate: Uuid,
    /// Its number in the aggregate's history, from 1.
    pub sequence: i64,
    /// When it was written.
    pub time: Timestamp,
    /// Whose data it is.
    pub tenant: TenantId,
    /// Trace context, if the cause had one.
    pub traceparent: Option<String>,
}

/// A record's headers are not a valid envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeError {
    header: &'static str,
    problem: &'static str,
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "header {} {}", self.header, self.problem)
    }
}

impl std::error::Error for EnvelopeError {}

/// A source must be a name, because databases index it.
const NOT_A_SOURCE: EnvelopeError =
    EnvelopeError { header: header::SOURCE, problem: "is not a service's name" };

/// W3C trace context, version 00: four groups of lower-case hexadecimal digits.
fn is_traceparent(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let hexadecimal = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    groups.iter().map(|group| group.len()).eq([2, 32, 16, 2])
        && groups.iter().all(|group| group.bytes().all(hexadecimal))
}

impl Envelope {
    /// Whether the text is a valid source, which is a service's name.
    pub fn is_source(text: &str) -> bool {
        is_name(text)
    }

    /// The record headers, in a fixed order.
    pub fn to_headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            (header::ID, self.id.to_string()),
            (header::TYPE, self.kind.clone()),
            (header::SOURCE, self.source.clone()),
            (header::SUBJECT, self.aggregate.to_string()),
            (header::SEQUENCE, self.sequence.to_string()),
            (header::TIME, self.time.to_string()),
            (header::TENANT, self.tenant.to_string()),
        ];
        headers.extend(self.traceparent.clone().map(|t| (header::TRACEPARENT, t)));
        headers
    }

    /// Decodes an envelope; `get` finds a header by name.
    pub fn from_headers<'h>(get: impl Fn(&str) -> Option<&'h [u8]>) -> Result<Self, EnvelopeError> {
        let text = |name: &'static str| {
            let bytes = get(name).ok_or(EnvelopeError { header: name, problem: "is missing" })?;
            std::str::from_utf8(bytes).map_err(|_| EnvelopeError { header: name, problem: "is not text" })
        };
        let uuid = |name: &'static str| {
            Uuid::parse_str(text(name)?).map_err(|_| EnvelopeError { header: name, problem: "is not a UUID" })
        };
        let sequence = text(header::SEQUENCE)?.parse::<i64>().ok().filter(|n| *n >= 1);
        Ok(Self {
            id: uuid(header::ID)?.into(),
            kind: text(header::TYPE)?.to_owned(),
            source: text(header::SOURCE)
                .and_then(|text| if Self::is_source(text) { Ok(text) } else { Err(NOT_A_SOURCE) })?
                .to_owned(),
            aggregate: uuid(header::SUBJECT)?,
            sequence: sequence
                .ok_or(EnvelopeError { header: header::SEQUENCE, problem: "is not a number from 1" })?,
            time: Timestamp::from_rfc3339(text(header::TIME)?),
            tenant: text(header::TENANT)?
                .parse()
                .map_err(|_| EnvelopeError { header: header::TENANT, problem: "is not a tenant's name" })?,
            // Follow-up events carry it on, so only a valid value is kept.
            traceparent: get(header::TRACEPARENT)
                .and_then(|b| std::str::from_utf8(b).ok())
                .filter(|text| is_traceparent(text))
                .map(str::to_owned),
        })
    }
}
