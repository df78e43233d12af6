//! The OpenAPI documents of the services, and the operation of a request in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use reqwest::Method;
use serde_json::Value;

use crate::{Part, Request};

pub(super) static DOCUMENTS: LazyLock<BTreeMap<Part, Value>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi");
    let read = |part: Part| {
        std::fs::read_to_string(folder.join(format!("{}.json", part.name()))).unwrap_or_default()
    };
    Part::SERVICES.map(|part| (part, serde_json::from_str(&read(part)).unwrap_or_default())).into()
});

/// The paths with their operations, and those of webhooks.
pub(super) fn items(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let paths = paths.map(|(path, item)| (path.as_str(), item));
    let webhooks = document["webhooks"].as_object().into_iter().flatten();
    paths.chain(webhooks.filter_map(|(_, item)| Some((item["x-path"].as_str()?, item))))
}

/// The template of the request's path, and its operation.
pub(super) fn operation<'d>(document: &'d Value, request: &Request) -> Option<(&'d str, &'d Value)> {
    let path = request.path.split('?').next().unwrap_or_default();
    let matches = |template: &str| {
        let (mut given, mut expected) = (path.split('/'), template.split('/'));
        loop {
            match (given.next(), expected.next()) {
                (None, None) => return true,
                (Some(given), Some(expected)) if expected == given || expected.starts_with('{') => {}
                _ => return false,
            }
        }
    };
    let method = if request.method == Method::HEAD { Method::GET } else { request.method.clone() };
    let (template, item) = items(document).find(|(template, _)| matches(template))?;
    Some((template, item.get(method.as_str().to_lowercase())?))
}

/// Follows a reference within the document. Any other value is returned as it is.
pub(super) fn resolved<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let reference = value["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
    reference.and_then(|place| document.pointer(place)).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_has_a_document() {
        assert!(DOCUMENTS.values().all(|document| document["openapi"].is_string()));
        assert_eq!(DOCUMENTS.len(), Part::SERVICES.len());
    }
}
