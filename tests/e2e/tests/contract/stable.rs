//! Replaces what differs from run to run, so that an example stays the same: ids, times, the tenant, the deployment and
//! cursors.

use std::collections::BTreeMap;

use envelope::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

/// Ids in the order in which they were seen first. An id has the same replacement in all examples.
#[derive(Default)]
pub(crate) struct Ids(BTreeMap<Uuid, Uuid>);

impl Ids {
    pub(crate) fn stable(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                members.iter().map(|(name, value)| (name.clone(), self.member(name, value))).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.stable(item)).collect(),
            Value::String(text) => json!(self.text(text)),
            other => other.clone(),
        }
    }

    fn member(&mut self, name: &str, value: &Value) -> Value {
        match value {
            Value::String(_) if name == "request_id" => json!("0190a5c4-7e3b-7abc-8def-0123456789ab"),
            Value::Number(_) if name == "created" => json!(1_795_176_000), // of the processor, in Unix seconds
            Value::String(_) if name == "deployment" => json!(harness::DEPLOYMENT),
            Value::String(_) if name == "next_cursor" => json!("Zm9sbG93LW1lLXRvLXRoZS1uZXh0LXBhZ2U"),
            value => self.stable(value),
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        if is_time(text) {
            return "2026-11-20T12:00:00.123456Z".to_owned();
        }
        let mut stable = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            // Ids of the processor are written without hyphens, behind a prefix.
            let hyphenated = rest.get(..36).and_then(|start| Uuid::parse_str(start).ok());
            let simple = rest
                .get(..32)
                .filter(|_| stable.ends_with('_'))
                .and_then(|start| Uuid::parse_str(start).ok());
            let (replaced, length) = match (hyphenated, simple) {
                (Some(id), _) => (self.id(id).to_string(), 36),
                (None, Some(id)) => (self.id(id).simple().to_string(), 32),
                (None, None) => (first.to_string(), first.len_utf8()),
            };
            stable += &replaced;
            rest = &rest[length..];
        }
        stable
    }

    fn id(&mut self, id: Uuid) -> Uuid {
        let next = self.0.len() + 1;
        *self.0.entry(id).or_insert_with(|| {
            let random = u128::try_from(next).unwrap();
            Uuid::from_u128((0x019a_9b60_7c00_7000_8000_u128 << 48) + random)
        })
    }
}

fn is_time(text: &str) -> bool {
    text.len() > 19 && serde_json::from_value::<Timestamp>(json!(text)).is_ok() && text.as_bytes()[10] == b'T'
}
