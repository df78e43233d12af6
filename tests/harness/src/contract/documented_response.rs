//! The responses that the documents list: each status of each operation, and each code of a problem.

use std::collections::BTreeSet;

use serde_json::Value;

use super::documents::{DOCUMENTS, items, operation, resolved};
use crate::{Part, Request, Response};

/// A response that a document lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DocumentedResponse {
    /// The service.
    pub part: Part,
    /// The id of the operation.
    pub operation: String,
    /// The status.
    pub status: u16,
    /// The code of a problem; empty otherwise.
    pub code: String,
}

impl DocumentedResponse {
    /// The documented response that a client received; `None` if no document has the operation.
    pub fn of(request: &Request, response: &Response) -> Option<Self> {
        let (_, operation) = operation(DOCUMENTS.get(&request.part)?, request)?;
        let operation = operation["operationId"].as_str()?.to_owned();
        Some(Self { part: request.part, operation, status: response.status, code: response.code() })
    }

    /// Every response of every document.
    pub fn all() -> BTreeSet<Self> {
        let mut listed = BTreeSet::new();
        for (part, operation, status, response) in responses() {
            let document = &DOCUMENTS[&part];
            let schema = &resolved(document, response)["content"]["application/problem+json"]["schema"];
            let codes = if schema.is_null() { vec![String::new()] } else { codes(document, schema) };
            listed.extend(codes.into_iter().map(|code| Self {
                part,
                operation: operation.to_owned(),
                status,
                code,
            }));
        }
        listed
    }

    /// Returns whether the document has this response once for all operations.
    pub fn is_shared(&self) -> bool {
        responses().any(|(part, operation, status, response)| {
            (part, operation, status) == (self.part, self.operation.as_str(), self.status)
                && response["$ref"].is_string()
        })
    }
}

/// Each response with its service, operation and status.
fn responses() -> impl Iterator<Item = (Part, &'static str, u16, &'static Value)> {
    DOCUMENTS.iter().flat_map(|(part, document)| {
        let operations =
            items(document).filter_map(|(_, item)| item.as_object()).flat_map(|item| item.values());
        operations.flat_map(move |operation| {
            let id = operation["operationId"].as_str().unwrap_or_default();
            let responses = operation["responses"].as_object().into_iter().flatten();
            responses.map(move |(status, response)| (*part, id, status.parse().unwrap_or_default(), response))
        })
    })
}

/// The codes of a problem's schema, or of a union of such schemas.
fn codes(document: &Value, schema: &Value) -> Vec<String> {
    let schema = resolved(document, schema);
    match schema["oneOf"].as_array() {
        Some(union) => union.iter().flat_map(|schema| codes(document, schema)).collect(),
        None => schema["properties"]["code"]["const"].as_str().map(str::to_owned).into_iter().collect(),
    }
}
