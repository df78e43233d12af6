//! A copy of what is parked, for whoever watches the dead letters. Nothing about the message can make it fail: what is
//! too long is cut, and what is too large is described.

use std::borrow::Cow;

use contracts::{MessageParked, TenantId, header};
use database::{Tx, UnitOfWork};
use outbox::{Destination, MAX_PAYLOAD};

use crate::bytes::{base64, sha256, shortened};
use crate::incoming::{Entry, Incoming, Origin};

/// How much of an error is copied, in bytes.
const ERROR: usize = 4 * 1024;
/// How much of one header's name or value.
const HEADER: usize = 1024;
/// How much of all headers. JSON may need six bytes for one of these.
const HEADERS: usize = 16 * 1024;

/// Tells of the message in the transaction that parks it.
pub(crate) fn tell(
    tx: &mut Tx,
    consumer: &'static str,
    entry: &Entry,
    origin: &Origin,
    payload: &[u8],
    error: &str,
) {
    let mut copy = MessageParked {
        consumer: consumer.to_owned(),
        topic: origin.topic.clone(),
        partition: origin.partition,
        offset: origin.offset,
        message_id: entry.id,
        source: entry.line.source.clone(),
        aggregate_id: entry.line.aggregate,
        sequence: entry.sequence,
        error: shortened(error, ERROR),
        headers: headers(origin),
        payload_bytes: payload.len() as u64,
        payload_base64: None,
        payload_sha256: None,
    };
    let without = serde_json::to_vec(&copy).map_or(MAX_PAYLOAD, |copy| copy.len());
    // The member's name, and four characters for three bytes.
    if without + r#","payload_base64":"""#.len() + payload.len().div_ceil(3) * 4 <= MAX_PAYLOAD {
        copy.payload_base64 = Some(base64(payload));
    } else {
        copy.payload_sha256 = Some(sha256(payload));
    }
    let destination = Destination {
        topic: MessageParked::topic(consumer),
        partition_key: entry.id,
        aggregate_type: MessageParked::AGGREGATE,
        aggregate_id: entry.id,
        kind: Cow::Owned(MessageParked::kind(consumer)),
        source: consumer,
    };
    let tenant = origin.header(header::TENANT).and_then(|tenant| tenant.parse().ok());
    let tenant = tenant.unwrap_or_else(TenantId::unknown);
    let envelope = Incoming::from_parts(origin.clone(), Vec::new()).ok().map(|incoming| incoming.envelope);
    tx.set_traceparent(envelope.and_then(|envelope| envelope.traceparent));
    if let Err(error) = outbox::append_to(tx, &tenant, destination, 1, &copy) {
        tracing::error!(consumer, message_id = %entry.id, %error, "a parked message has no copy");
    }
}

/// As many as there is room for, each cut to its share.
fn headers(origin: &Origin) -> Vec<(String, String)> {
    let mut room = HEADERS;
    let cut = origin.headers.iter().map(|(name, value)| (shortened(name, HEADER), shortened(value, HEADER)));
    cut.map_while(|(name, value)| {
        room = room.checked_sub(name.len() + value.len())?;
        Some((name, value))
    })
    .collect()
}
