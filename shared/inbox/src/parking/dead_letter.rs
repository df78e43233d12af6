//! Appends a copy of a parked message to the outbox, for the topic `<consumer>.dlq`.
//!
//! No property of the message can make parking fail: long texts are cut, and a payload that is too large to publish is
//! described by its size and hash.

use std::borrow::Cow;

use database::{Tx, UnitOfWork};
use envelope::{MessageParked, TenantId, header};
use outbox::{Destination, MAX_PAYLOAD};

use super::text::{base64, sha256, shortened};
use crate::message::{InboxEntry, IncomingMessage, RecordOrigin};

/// The longest error in a copy, in bytes.
const MAX_ERROR: usize = 4 * 1024;
/// The longest name or value of a header, in bytes.
const MAX_HEADER: usize = 1024;
/// The longest headers together, in bytes. JSON may need six bytes for one of these.
const MAX_HEADERS: usize = 16 * 1024;

/// Appends the copy in the transaction that parks the message.
pub(super) fn append(
    tx: &mut Tx,
    consumer: &'static str,
    entry: &InboxEntry,
    origin: &RecordOrigin,
    payload: &[u8],
    error: &str,
) {
    let mut copy = MessageParked {
        consumer: consumer.to_owned(),
        topic: origin.topic.clone(),
        partition: origin.partition,
        offset: origin.offset,
        message_id: entry.id,
        source: entry.aggregate.source.clone(),
        aggregate_id: entry.aggregate.id,
        sequence: entry.sequence,
        error: shortened(error, MAX_ERROR),
        headers: headers(origin),
        payload_bytes: payload.len() as u64,
        payload_base64: None,
        payload_sha256: None,
    };
    let without_payload = serde_json::to_vec(&copy).map_or(MAX_PAYLOAD, |copy| copy.len());
    // The name of the JSON member, and four characters for three bytes.
    let member = r#","payload_base64":"""#.len() + payload.len().div_ceil(3) * 4;
    if without_payload + member <= MAX_PAYLOAD {
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
    // A message whose headers cannot be decoded has no trace to continue.
    let decoded = IncomingMessage::from_parts(origin.clone(), Vec::new()).ok();
    tx.set_traceparent(decoded.and_then(|message| message.envelope.traceparent));
    if let Err(error) = outbox::append_to(tx, &tenant, destination, 1, &copy) {
        tracing::error!(consumer, message_id = %entry.id, %error, "a parked message has no copy on the dead-letter topic");
    }
}

/// The first headers, each cut to its limit, until the limit of all headers is reached.
fn headers(origin: &RecordOrigin) -> Vec<(String, String)> {
    let mut room = MAX_HEADERS;
    let cut = origin
        .headers
        .iter()
        .map(|(name, value)| (shortened(name, MAX_HEADER), shortened(value, MAX_HEADER)));
    cut.map_while(|(name, value)| {
        room = room.checked_sub(name.len() + value.len())?;
        Some((name, value))
    })
    .collect()
}
