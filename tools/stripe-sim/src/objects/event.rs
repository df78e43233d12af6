//! An `event`, as it is listed and as it is delivered.

use serde_json::{Value, json};

use crate::protocol::VERSION;
use crate::store::events::Event;

pub(crate) fn event(event: &Event) -> Value {
    json!({
        "id": event.id,
        "object": "event",
        "api_version": VERSION,
        "created": event.created,
        "data": { "object": event.object },
        "livemode": false,
        "pending_webhooks": i32::from(!event.planned),
        "request": { "id": event.request, "idempotency_key": event.idempotency_key },
        "type": event.kind,
    })
}
