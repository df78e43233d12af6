//! What of an event is of use: what it is about. What it says about that is not read, as only the processor's answer to
//! our own question counts.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

/// The events after which it is worth asking. All others are kept and left alone.
const WORTH_ASKING: [&str; 13] = [
    "payment_intent.succeeded",
    "payment_intent.payment_failed",
    "payment_intent.processing",
    "payment_intent.requires_action",
    "payment_intent.canceled",
    "charge.succeeded",
    "charge.failed",
    "charge.updated",
    "charge.refunded",
    "charge.refund.updated",
    "refund.created",
    "refund.updated",
    "refund.failed",
];

/// The longest name of anything at the processor.
const LONGEST: usize = 255;

/// An event that the processor has signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) created: DateTime<Utc>,
    pub(super) object: Option<String>,
    /// Whose state it may tell of, by what is likeliest to be known first.
    pub(super) about: Option<About>,
}

/// What an event leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct About {
    /// Our own name, a payment's or a refund's, if it carries our deployment's.
    pub(crate) reference: Option<Uuid>,
    /// The processor's names: of the object, and of the payment intent that it belongs to.
    pub(crate) objects: Vec<String>,
}

#[derive(Deserialize)]
struct Wire {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    created: i64,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    object: Value,
}

impl Event {
    /// `None` if it is not an event of the protocol.
    pub(super) fn read(body: &[u8], deployment: &str) -> Option<Self> {
        let Wire { id, kind, created, data: Data { object } } = serde_json::from_slice(body).ok()?;
        if ![&id, &kind].into_iter().all(|text| (1..=LONGEST).contains(&text.len())) {
            return None;
        }
        let about = WORTH_ASKING.contains(&kind.as_str()).then(|| About::of(&object, deployment)).flatten();
        Some(Self {
            id,
            kind,
            created: DateTime::from_timestamp(created, 0)?,
            object: name(&object, "id"),
            about,
        })
    }
}

impl About {
    /// `None` if it says that it is another deployment's.
    fn of(object: &Value, deployment: &str) -> Option<Self> {
        let metadata = |member: &str| object.get("metadata")?.get(member)?.as_str();
        let owner = metadata("deployment");
        if owner.is_some_and(|owner| owner != deployment) {
            return None;
        }
        let reference = metadata("reference").filter(|_| owner.is_some()).and_then(|text| text.parse().ok());
        let objects =
            ["id", "payment_intent"].into_iter().filter_map(|member| name(object, member)).collect();
        Some(Self { reference, objects })
    }
}

/// A name at the processor, or that of an object which stands in its place.
fn name(object: &Value, member: &str) -> Option<String> {
    let value = object.get(member)?;
    let name = value.as_str().or_else(|| value.get("id")?.as_str())?;
    (1..=LONGEST).contains(&name.len()).then(|| name.to_owned())
}
