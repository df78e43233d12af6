//! What a consumer says about a message that it could not apply.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A copy of a message that was put aside, on the consumer's topic of dead letters. It is for people and their tools:
/// no service reacts to it. Type `orders.MessageParked.v1`, said by the consumer `orders`; its subject is the message,
/// and it is the only one of its history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageParked {
    /// Who could not apply it.
    pub consumer: String,
    /// Where it was read.
    pub topic: String,
    /// In which partition.
    pub partition: i32,
    /// At which place.
    pub offset: i64,
    /// Its id; made of its place if it has none that can be read.
    pub message_id: Uuid,
    /// Who said it; its topic if it does not say.
    pub source: String,
    /// Whose history it belongs to; the message's own id if nobody can tell.
    pub aggregate_id: Uuid,
    /// Its place in that history; 0 if nobody can tell.
    pub sequence: i64,
    /// Why it could not be applied. Long texts are cut.
    pub error: String,
    /// Its headers in their order, as text. Long ones are cut, and too many are left out.
    pub headers: Vec<(String, String)>,
    /// How many bytes its payload has.
    pub payload_bytes: u64,
    /// The payload, unless it is too large to be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// The payload's SHA-256 in hexadecimal, if it is too large to be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_sha256: Option<String>,
}

impl MessageParked {
    /// What kind of thing it tells about.
    pub const AGGREGATE: &'static str = "message";

    /// Type and version on the wire, for this consumer.
    pub fn kind(consumer: &str) -> String {
        format!("{consumer}.MessageParked.v1")
    }

    /// The topic it goes to, before an installation's prefix.
    pub fn topic(consumer: &str) -> String {
        format!("{consumer}.dlq")
    }
}
