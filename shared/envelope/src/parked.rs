//! The copy of a parked message on the dead-letter topic.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A copy of a message that a consumer parked, for people and tools; no service reads it.
///
/// The consumer `orders` publishes it with type `orders.MessageParked.v1`. Its aggregate is the parked message, and its
/// sequence is 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageParked {
    /// The consumer that parked it.
    pub consumer: String,
    /// The topic that the consumer read it from.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// Its id; derived from topic, partition and offset if its headers name none.
    pub message_id: Uuid,
    /// The service that published it; the topic if its headers name none.
    pub source: String,
    /// Its aggregate; derived like the id if neither headers nor key name one.
    pub aggregate_id: Uuid,
    /// Its sequence in the aggregate's history; 0 if its headers name none.
    pub sequence: i64,
    /// Why it could not be applied. Long texts are cut.
    pub error: String,
    /// Its headers in their order, as text. Long ones are cut, and too many are left out.
    pub headers: Vec<(String, String)>,
    /// The size of its payload.
    pub payload_bytes: u64,
    /// The payload, unless it is too large to be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The payload's SHA-256 in hexadecimal, if it is too large to be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_sha256: Option<String>,
}

impl MessageParked {
    /// The aggregate type in the envelope.
    pub const AGGREGATE: &'static str = "message";

    /// Type and version on the wire, for this consumer.
    pub fn kind(consumer: &str) -> String {
        format!("{consumer}.MessageParked.v1")
    }

    /// The topic, before an installation's prefix.
    pub fn topic(consumer: &str) -> String {
        format!("{consumer}.dlq")
    }
}
