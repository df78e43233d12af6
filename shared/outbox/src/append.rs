//! Writing an event, as part of the change that it tells about.

use contracts::{Event, EventId, TenantId};
use database::Tx;
use thiserror::Error;

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
        kind: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// Kafka would never take it, so the change itself must not be made.
    #[error("event {kind} is {size} bytes; at most {MAX_PAYLOAD} can be published")]
    TooLarge {
        /// The event's type.
        kind: &'static str,
        /// Its size in bytes.
        size: usize,
    },
}

/// Tells `event` if and only if the transaction commits.
///
/// Call it while the aggregate's row is locked; `sequence` is the event's place in that aggregate's history, from 1
/// without gaps. Returns the event's id, made here: it is the same on the topic and in every inbox.
pub fn append<E: Event>(
    tx: &mut Tx,
    tenant: &TenantId,
    sequence: i64,
    event: &E,
) -> Result<EventId, AppendError> {
    let payload =
        serde_json::to_vec(event).map_err(|source| AppendError::Encode { kind: E::TYPE, source })?;
    if payload.len() > MAX_PAYLOAD {
        return Err(AppendError::TooLarge { kind: E::TYPE, size: payload.len() });
    }
    let id = EventId::generate();
    tracing::info!(event_id = %id, kind = E::TYPE, aggregate = %event.aggregate(), sequence, "OutboxMessageCreated");
    let row = NewEvent {
        event_id: id.uuid(),
        topic: E::STREAM.topic(),
        partition_key: event.key(),
        aggregate_type: E::AGGREGATE,
        aggregate_id: event.aggregate(),
        sequence,
        kind: E::TYPE,
        source: E::STREAM.name(),
        tenant_id: tenant.to_string(),
        payload,
        traceparent: tx.traceparent().map(str::to_owned),
    };
    tx.buffer(row);
    tx.wake_after_commit(COMMITTED);
    Ok(id)
}
