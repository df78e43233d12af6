//! The components of problems: for each a schema whose `code` and `status` are constants, and a response.
//!
//! A client branches on `code`, and its generated types know which codes an operation can return.

use serde_json::{Value, json};
use utoipa::openapi::schema::{Discriminator, OneOfBuilder, Schema};
use utoipa::openapi::{OpenApi, Ref, RefOr};

use crate::problems::MEDIA_TYPE;
use crate::{ProblemType, problem_types as p};

/// Problems of one status that many operations have.
pub(super) struct Group {
    /// The name of the response, and with `Problem` of its schema.
    pub(super) name: &'static str,
    pub(super) kinds: &'static [&'static ProblemType],
}

pub(super) const GROUPS: &[Group] = &[
    Group { name: "KeyedRequestRefused", kinds: &[&p::REQUEST_INVALID, &p::KEY_MISSING, &p::KEY_INVALID] },
    Group {
        name: "KeyConflict",
        kinds: &[&p::KEY_IN_PROGRESS, &p::KEY_REUSED, &p::KEY_EXPIRED, &p::KEY_FENCED],
    },
    Group { name: "CommandUnavailable", kinds: &[&p::UNAVAILABLE, &p::COMMIT_UNKNOWN] },
];

/// The code in upper camel case: the name of the problem's response.
pub(super) fn camel_case(kind: &ProblemType) -> String {
    kind.code.split('-').map(capitalised).collect()
}

/// The name of the problem's schema, such as `IdempotencyKeyReusedProblem`.
pub(super) fn schema_name(kind: &ProblemType) -> String {
    format!("{}Problem", camel_case(kind))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Whether the response has `Retry-After`.
pub(super) fn tells_when(kind: &ProblemType) -> bool {
    kind.retryable && kind.status != 500
}

/// The description of a response with these problems.
pub(super) fn titles(kinds: &[&ProblemType]) -> String {
    let title = |kind: &&ProblemType| format!("`{}`: {}.", kind.code, kind.title);
    kinds.iter().map(title).collect::<Vec<_>>().join(" ")
}

/// The union of these problems. `code` tells a generated reader which one it has.
pub(super) fn union(kinds: &[&ProblemType]) -> RefOr<Schema> {
    let reference = |kind: &&ProblemType| Ref::from_schema_name(schema_name(kind));
    let by_code = kinds.iter().map(|kind| (kind.code, reference(kind).ref_location));
    let union = OneOfBuilder::new().discriminator(Some(Discriminator::with_mapping("code", by_code)));
    kinds.iter().map(reference).fold(union, OneOfBuilder::item).into()
}

/// The schema of the problem.
fn schema(kind: &ProblemType) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": format!("{}.", kind.title),
        "required": ["type", "title", "status", "detail", "code", "retryable"],
        "properties": {
            "type": {
                "type": "string",
                "description": "The address of the problem's explanation.",
                "examples": [format!("/problems/{}", kind.code)],
            },
            "title": {
                "type": "string",
                "description": "The same text for every problem of this type.",
                "examples": [kind.title],
            },
            "status": { "type": "integer", "description": "The HTTP status.", "const": kind.status },
            "detail": {
                "type": "string",
                "description": "What is wrong in this case, and what the client can do.",
            },
            "code": { "type": "string", "description": "Stable, so that clients can branch on it.", "const": kind.code },
            "retryable": {
                "type": "boolean",
                "description": "Whether the same request with the same key may succeed later.",
                "examples": [kind.retryable],
            },
        },
    });
    schema["properties"]["request_id"] = json!({
        "type": "string",
        "format": "uuid",
        "description": "The id of the request, as in `X-Request-Id`. Absent where a rule of the command rejected the request: each retry gets \
                        the same bytes.",
        "examples": ["0190a5c4-7e3b-7abc-8def-0123456789ab"],
    });
    if kind == &p::REQUEST_INVALID {
        schema["properties"]["errors"] = json!({
            "type": "array",
            "description": "The errors of the request; absent if the whole request is concerned.",
            "items": { "$ref": "#/components/schemas/ValidationError" },
        });
    }
    schema
}

/// The document in its JSON form, with the components of all problems. `own` are those that only this service has.
pub fn with_problems(document: &OpenApi, own: &[&'static ProblemType]) -> Value {
    let mut document = json!(document);
    let components = &mut document["components"];
    for kind in p::ALL.iter().chain(own) {
        components["schemas"][schema_name(kind)] = schema(kind);
        components["responses"][camel_case(kind)] = response(&[kind], &schema_name(kind));
    }
    for Group { name, kinds } in GROUPS {
        let schema = format!("{name}Problem");
        components["responses"][*name] = response(kinds, &schema);
        components["schemas"][schema] = json!(union(kinds));
    }
    document
}

/// A response that several operations share.
fn response(kinds: &[&ProblemType], schema: &str) -> Value {
    let mut response = json!({
        "description": titles(kinds),
        "content": { MEDIA_TYPE: { "schema": { "$ref": format!("#/components/schemas/{schema}") } } },
        "headers": {},
    });
    let retry_after = kinds.iter().any(|kind| tells_when(kind)).then_some("Retry-After");
    let challenge = kinds.iter().any(|kind| [401, 403].contains(&kind.status)).then_some("WWW-Authenticate");
    for name in ["X-Request-Id", "Cache-Control", "Link"].into_iter().chain(retry_after).chain(challenge) {
        response["headers"][name] = json!({ "$ref": format!("#/components/headers/{name}") });
    }
    response
}
