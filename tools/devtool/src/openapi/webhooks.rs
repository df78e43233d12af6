//! Moves what other systems send to the service from `paths` to `webhooks`, so that clients are generated without it.

use serde_json::{Value, json};

use super::document::members;

/// The routes of other systems' events.
const PREFIX: &str = "/v1/webhooks/";

/// Moves these operations. The member `x-path` has the path, because OpenAPI gives a webhook none.
pub(super) fn move_webhooks(document: &mut Value) {
    let paths = members(&mut document["paths"]);
    let moved: Vec<String> = paths.keys().filter(|path| path.starts_with(PREFIX)).cloned().collect();
    for path in moved {
        let paths = members(&mut document["paths"]);
        let Some(mut item) = paths.remove(&path) else { continue };
        let name = item.pointer("/post/operationId").and_then(Value::as_str).unwrap_or(&path).to_owned();
        item["x-path"] = json!(path);
        document["webhooks"][name] = item;
    }
}
