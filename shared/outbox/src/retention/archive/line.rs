//! One row as a line of JSON.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde::de::IgnoredAny;
use uuid::Uuid;

use crate::outbox_event::StoredEvent;

/// The columns of a row, but for its payload.
#[derive(Serialize)]
struct Columns<'r> {
    id: i64,
    event_id: Uuid,
    topic: &'r str,
    partition_key: Uuid,
    aggregate_type: &'r str,
    aggregate_id: Uuid,
    sequence: i64,
    #[serde(rename = "type")]
    kind: &'r str,
    source: &'r str,
    tenant_id: &'r str,
    traceparent: Option<&'r str>,
    created_at: String,
}

/// Writes a row as one line. The payload is the last member, with its exact bytes: as JSON if the bytes are JSON, as those of
/// every event, so that people can read and query it; otherwise as `payload_base64`.
pub(super) fn write_line(out: &mut impl Write, row: &StoredEvent) -> io::Result<()> {
    let columns = Columns {
        id: row.id,
        event_id: row.event_id,
        topic: &row.topic,
        partition_key: row.partition_key,
        aggregate_type: &row.aggregate_type,
        aggregate_id: row.aggregate_id,
        sequence: row.sequence,
        kind: &row.kind,
        source: &row.source,
        tenant_id: &row.tenant_id,
        traceparent: row.traceparent.as_deref(),
        created_at: database::time::to_rfc3339(row.created_at),
    };
    let columns = serde_json::to_vec(&columns)?;
    out.write_all(columns.strip_suffix(b"}").unwrap_or(&columns))?;
    write_payload(out, &row.payload)?;
    out.write_all(b"}\n")
}

fn write_payload(out: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    if is_json_in_a_line(payload) {
        out.write_all(b",\"payload\":")?;
        out.write_all(payload)
    } else {
        write!(out, ",\"payload_base64\":\"{}\"", STANDARD.encode(payload))
    }
}

/// JSON with a line break in it, or with blanks around it, would not keep its bytes when a reader takes the line apart.
fn is_json_in_a_line(payload: &[u8]) -> bool {
    payload.trim_ascii().len() == payload.len()
        && !payload.contains(&b'\n')
        && std::str::from_utf8(payload).is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::write_payload;

    fn member(payload: &[u8]) -> String {
        let mut out = Vec::new();
        assert!(write_payload(&mut out, payload).is_ok());
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn json_stays_readable_and_keeps_its_bytes() {
        assert_eq!(member(br#"{"a": 1.50}"#), r#","payload":{"a": 1.50}"#);
    }

    #[test]
    fn other_bytes_are_base64() {
        for payload in [&b""[..], b"\xff\x00", b"\"\xff\"", b" {}", b"{\n}", b"{} {}"] {
            assert!(member(payload).starts_with(r#","payload_base64":""#), "{payload:?}");
        }
    }
}
