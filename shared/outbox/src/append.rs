//! Writes an event to the outbox, in the transaction of the change that it reports.
//!
//! The row is written and the relay is woken only if the transaction commits.
//!
//! What goes wrong without it: a service that publishes after its commit loses the event if it dies between the two; the order exists,
//! and no stock is ever reserved. A service that publishes before its commit announces an order that may be rolled back.

use std::borrow::Cow;

use database::UnitOfWork;
use envelope::{Event, EventId, TenantId};
use serde::Serialize;
use thiserror::Error;
use uuid::Uuid;

use crate::outbox_event::NewEvent;
use crate::{EVENTS_COMMITTED, OutboxMetrics};

/// The largest payload in bytes. A broker accepts 1 MiB by default, headers included.
pub const MAX_PAYLOAD: usize = 256 * 1024;

/// The event cannot be appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// It cannot be serialized as JSON.
    #[error("event {kind} cannot be encoded: {source}")]
    Encode {
        /// The event's type.
        kind: String,
        /// The reason.
        source: serde_json::Error,
    },
    /// It is larger than [`MAX_PAYLOAD`]. The caller must roll back the change, because the event could never be published.
    #[error("event {kind} is {size} bytes; at most {MAX_PAYLOAD} can be published")]
    TooLarge {
        /// The event's type.
        kind: String,
        /// Its size in bytes.
        size: usize,
    },
}

/// Appends `event` to the outbox. It is published if and only if the transaction of `unit` commits.
///
/// Call it while the aggregate's row is locked. `sequence` is the event's number among the events of its aggregate: it starts
/// at 1 and has no gaps. Returns the event's id, which is the same in the topic and in every inbox.
///
/// # Errors
/// [`AppendError`] if the event does not become JSON, or is larger than [`MAX_PAYLOAD`]. Roll back then: nothing is appended.
pub fn append<E: Event>(
    unit: &mut impl UnitOfWork,
    tenant: &TenantId,
    sequence: i64,
    event: &E,
) -> Result<EventId, AppendError> {
    let destination = Destination {
        topic: E::STREAM.topic(),
        partition_key: event.key(),
        aggregate_type: E::AGGREGATE,
        aggregate_id: event.aggregate(),
        kind: Cow::Borrowed(E::TYPE),
        source: E::STREAM.name(),
    };
    append_to(unit, tenant, destination, sequence, event)
}

/// The topic, key, type and aggregate of a message that is not an [`Event`] of a service's stream.
#[derive(Debug, Clone)]
pub struct Destination {
    /// The topic, without an installation's prefix.
    pub topic: String,
    /// The partition key. Messages with the same key stay in order.
    pub partition_key: Uuid,
    /// The type of its aggregate.
    pub aggregate_type: &'static str,
    /// The id of its aggregate.
    pub aggregate_id: Uuid,
    /// Its type and version, as in the header.
    pub kind: Cow<'static, str>,
    /// The name of the publishing service or consumer.
    pub source: &'static str,
}

/// Appends a message with an explicit destination. Otherwise as [`append`].
///
/// # Errors
/// As [`append`].
pub fn append_to(
    unit: &mut impl UnitOfWork,
    tenant: &TenantId,
    destination: Destination,
    sequence: i64,
    data: &impl Serialize,
) -> Result<EventId, AppendError> {
    let Destination { kind, aggregate_id, .. } = &destination;
    let encoded = serde_json::to_vec(data);
    let payload = encoded.map_err(|source| AppendError::Encode { kind: kind.to_string(), source })?;
    if payload.len() > MAX_PAYLOAD {
        return Err(AppendError::TooLarge { kind: kind.to_string(), size: payload.len() });
    }
    let id = EventId::generate();
    tracing::debug!(event_id = %id, %kind, aggregate = %aggregate_id, sequence, "OutboxMessageCreated");
    let row = NewEvent {
        event_id: id.uuid(),
        destination,
        sequence,
        tenant_id: tenant.to_string(),
        payload,
        traceparent: unit.traceparent(),
    };
    unit.buffer(row);
    unit.wake_after_commit(EVENTS_COMMITTED);
    unit.count_after_commit(|metrics: &OutboxMetrics| {
        metrics.appended.inc();
    });
    Ok(id)
}
