//! Writing an event, as part of the change that it tells about.

use std::borrow::Cow;

use contracts::{Event, EventId, TenantId};
use database::UnitOfWork;
use serde::Serialize;
use thiserror::Error;
use uuid::Uuid;

use crate::COMMITTED;
use crate::rows::NewEvent;

/// The largest payload that is accepted, in bytes: far below what a broker takes by default (1 MiB), headers included.
pub const MAX_PAYLOAD: usize = 256 * 1024;

/// The event cannot be told.
#[derive(Debug, Error)]
pub enum AppendError {
    /// It does not become JSON.
    #[error("event {kind} cannot be encoded: {source}")]
    Encode {
        /// The event's type.
        kind: String,
        /// Why.
        source: serde_json::Error,
    },
    /// Kafka would never take it, so the change itself must not be made.
    #[error("event {kind} is {size} bytes; at most {MAX_PAYLOAD} can be published")]
    TooLarge {
        /// The event's type.
        kind: String,
        /// Its size in bytes.
        size: usize,
    },
}

/// Tells `event` if and only if the unit of work is kept.
///
/// Call it while the aggregate's row is locked; `sequence` is the event's place in that aggregate's history, from 1
/// without gaps. Returns the event's id, made here: it is the same on the topic and in every inbox.
pub fn append<E: Event>(
    unit: &mut impl UnitOfWork,
    tenant: &TenantId,
    sequence: i64,
    event: &E,
) -> Result<EventId, AppendError> {
    let address = Address {
        topic: E::STREAM.topic(),
        partition_key: event.key(),
        aggregate_type: E::AGGREGATE,
        aggregate_id: event.aggregate(),
        kind: Cow::Borrowed(E::TYPE),
        source: E::STREAM.name(),
    };
    append_to(unit, tenant, address, sequence, event)
}

/// Where a message goes and what it is about, for what is said outside a service's own stream.
#[derive(Debug, Clone)]
pub struct Address {
    /// The topic, before an installation's prefix.
    pub topic: String,
    /// Messages of one key stay in order.
    pub partition_key: Uuid,
    /// What kind of thing has this history.
    pub aggregate_type: &'static str,
    /// Whose history it belongs to.
    pub aggregate_id: Uuid,
    /// Type and version on the wire.
    pub kind: Cow<'static, str>,
    /// Who says it.
    pub source: &'static str,
}

/// The same for a message that is no service's event, and so brings its own address.
pub fn append_to(
    unit: &mut impl UnitOfWork,
    tenant: &TenantId,
    address: Address,
    sequence: i64,
    data: &impl Serialize,
) -> Result<EventId, AppendError> {
    let Address { topic, partition_key, aggregate_type, aggregate_id, kind, source } = address;
    let encoded = serde_json::to_vec(data);
    let payload = encoded.map_err(|source| AppendError::Encode { kind: kind.to_string(), source })?;
    if payload.len() > MAX_PAYLOAD {
        return Err(AppendError::TooLarge { kind: kind.to_string(), size: payload.len() });
    }
    let id = EventId::generate();
    tracing::info!(event_id = %id, %kind, aggregate = %aggregate_id, sequence, "OutboxMessageCreated");
    let row = NewEvent {
        event_id: id.uuid(),
        topic,
        partition_key,
        aggregate_type,
        aggregate_id,
        sequence,
        kind,
        source,
        tenant_id: tenant.to_string(),
        payload,
        traceparent: unit.traceparent().map(str::to_owned),
    };
    unit.buffer(row);
    unit.wake_after_commit(COMMITTED);
    Ok(id)
}
