#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! `openapi/events.asyncapi.yaml` describes the wire form of every message, as the golden files lock it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use contracts::events::CancelReason;
use contracts::streams;
use envelope::{MessageParked, Topics, header};
use jsonschema::Validator;
use serde_json::{Value, json};

fn document() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/events.asyncapi.yaml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The golden files by type. That of parked messages contains the data only.
fn golden() -> BTreeMap<String, Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let kind = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (kind, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    files.map(read).collect()
}

/// The schema of a reference into the document.
fn validator(document: &Value, schema: &Value) -> Validator {
    let root = json!({ "allOf": [schema], "components": document["components"] });
    jsonschema::options().should_validate_formats(true).build(&root).unwrap()
}

fn names(members: &Value) -> BTreeSet<&str> {
    members.as_object().unwrap_or_else(|| panic!("{members}")).keys().map(String::as_str).collect()
}

/// The schema with this reference, without the sign `#`.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().unwrap();
    document.pointer(target.trim_start_matches('#')).unwrap_or_else(|| panic!("{target} is missing"))
}

#[test]
fn every_event_is_documented_as_it_is_published() {
    let (document, mut golden) = (document(), golden());
    golden.remove(&MessageParked::kind("orders")).unwrap();
    let mut documented = BTreeSet::new();
    for stream in streams::ALL {
        let topic = stream.topic();
        let channel = &document["channels"][&topic];
        assert_eq!(channel["address"], topic);
        assert_eq!(channel["bindings"]["kafka"]["partitions"], Topics::PARTITIONS);
        for (kind, message) in channel["messages"].as_object().unwrap() {
            let (message, golden) = (resolved(&document, message), &golden[kind]);
            assert_eq!(message["name"], *kind);
            assert!(kind.starts_with(&format!("{}.", stream.name())), "{kind} is in {topic}");
            let payload = validator(&document, &message["payload"]);
            payload.validate(&golden["data"]).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let schema = resolved(&document, &message["payload"]);
            assert_eq!(names(&schema["properties"]), names(&golden["data"]), "the members of {kind}");
            for member in names(&golden["data"]) {
                let mut without = golden["data"].clone();
                without.as_object_mut().unwrap().remove(member);
                // A later member is an `Option`, because messages from before it lack it.
                let is_optional = validator(&document, &schema["properties"][member]).is_valid(&Value::Null);
                assert!(is_optional || !payload.is_valid(&without), "{kind} may lack {member}");
            }
            let headers = validator(&document, &message["headers"]);
            headers.validate(&golden["headers"]).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let mut other = golden["headers"].clone();
            other[header::TYPE] = json!("other.Type.v1");
            assert!(!headers.is_valid(&other), "{kind} may have another type");
            documented.insert(kind.as_str());
        }
    }
    assert_eq!(documented, golden.keys().map(String::as_str).collect());
}

#[test]
fn every_header_is_documented_and_all_but_the_trace_context_are_required() {
    let document = document();
    let headers = &document["components"]["schemas"]["Headers"];
    let golden = golden();
    let sent = names(&golden["orders.OrderPlaced.v1"]["headers"]);
    assert_eq!(names(&headers["properties"]), sent);
    let required = headers["required"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    assert_eq!(required.chain([header::TRACEPARENT]).collect::<BTreeSet<_>>(), sent);
}

#[test]
fn the_copies_of_parked_messages_are_documented_as_they_are_published() {
    let document = document();
    let copy = &golden()[&MessageParked::kind("orders")];
    for stream in streams::ALL {
        let consumer = stream.name();
        let channel = &document["channels"][&MessageParked::topic(consumer)];
        let message = resolved(&document, &channel["messages"][&MessageParked::kind(consumer)]);
        validator(&document, &message["payload"]).validate(copy).unwrap_or_else(|error| panic!("{error}"));
    }
    let members = names(&document["components"]["schemas"]["MessageParked"]["properties"]);
    let other = BTreeSet::from(["payload_sha256"]);
    assert_eq!(members, names(copy).union(&other).copied().collect());
}

#[test]
fn every_reason_of_a_cancellation_is_documented() {
    use CancelReason::{Customer, Declined, Expired, Rejected};
    // The match fails to compile when a reason is added.
    let known = |reason| match reason {
        Rejected | Declined | Expired | Customer => json!(reason),
    };
    let reasons = [Rejected, Declined, Expired, Customer].map(known);
    assert_eq!(document()["components"]["schemas"]["CancelReason"]["enum"], json!(reasons));
}
