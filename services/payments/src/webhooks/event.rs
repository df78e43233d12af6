//! Reads only the ids of an event and of its object. The rest of the body is ignored, because only a lookup counts.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::domain::EventClaim;

/// The longest id that is accepted, in bytes.
const MAX_ID_LENGTH: usize = 255;

/// An event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) kind: String,
    /// By the processor's clock.
    pub(crate) created: DateTime<Utc>,
    /// The processor's id of the event's object.
    pub(crate) object: Option<String>,
    /// How to find the call that the event is about; `None` if it triggers no lookup.
    pub(crate) subject: Option<EventSubject>,
}

/// The ids by which the call of an event can be found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EventSubject {
    /// The id of the payment or refund, if the object carries the name of this deployment.
    pub(crate) reference: Option<Uuid>,
    /// The claim of the event's type about the object.
    pub(crate) claim: EventClaim,
    /// The processor's ids of the object and of its `PaymentIntent`.
    pub(crate) objects: Vec<String>,
    /// The id of the `PaymentIntent` or refund that carries the reference. It only tells where to look.
    pub(crate) own_object: Option<String>,
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
    /// Reads an event. Returns `None` if the body does not follow the protocol.
    pub(crate) fn read(body: &[u8], deployment: &str) -> Option<Self> {
        let Wire { id, kind, created, data: Data { object } } = serde_json::from_slice(body).ok()?;
        if ![&id, &kind].into_iter().all(|text| (1..=MAX_ID_LENGTH).contains(&text.len())) {
            return None;
        }
        let subject = EventClaim::of(&kind).and_then(|claim| EventSubject::of(claim, &object, deployment));
        Some(Self {
            id,
            kind,
            created: DateTime::from_timestamp(created, 0)?,
            object: id_of(&object, "id"),
            subject,
        })
    }
}

impl EventSubject {
    /// Reads the ids of an object. Returns `None` if it carries the name of another deployment.
    fn of(claim: EventClaim, object: &Value, deployment: &str) -> Option<Self> {
        let metadata = |member: &str| object.get("metadata")?.get(member)?.as_str();
        let owner = metadata("deployment");
        if owner.is_some_and(|owner| owner != deployment) {
            return None;
        }
        let reference = metadata("reference").filter(|_| owner.is_some()).and_then(|text| text.parse().ok());
        let objects =
            ["id", "payment_intent"].into_iter().filter_map(|member| id_of(object, member)).collect();
        // A charge carries the reference of its `PaymentIntent`.
        let is_charge = object.get("object").and_then(Value::as_str) == Some("charge");
        let own = id_of(object, if is_charge { "payment_intent" } else { "id" });
        Some(Self { reference, claim, objects, own_object: own.filter(|_| reference.is_some()) })
    }
}

/// Reads the id of a member that is an id or an expanded object.
fn id_of(object: &Value, member: &str) -> Option<String> {
    let value = object.get(member)?;
    let id = value.as_str().or_else(|| value.get("id")?.as_str())?;
    (1..=MAX_ID_LENGTH).contains(&id.len()).then(|| id.to_owned())
}
