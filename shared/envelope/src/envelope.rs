//! The headers of every message: CloudEvents 1.0 attributes in the binary mode of its Kafka binding.

use std::fmt;

use uuid::Uuid;

use crate::names::is_name;
use crate::{EventId, TenantId, Timestamp};

/// Names of the record headers.
pub mod header {
    /// The event's id; consumers use it for deduplication.
    pub const ID: &str = "ce_id";
    /// Type and version, for instance `orders.OrderPlaced.v1`.
    pub const TYPE: &str = "ce_type";
    /// The service that publishes it.
    pub const SOURCE: &str = "ce_source";
    /// The aggregate's id.
    pub const SUBJECT: &str = "ce_subject";
    /// The event's number in the aggregate's history, from 1 without gaps.
    pub const SEQUENCE: &str = "ce_sequence";
    /// When it was written, RFC 3339.
    pub const TIME: &str = "ce_time";
    /// The tenant whose data it is.
    pub const TENANT: &str = "ce_tenant";
    /// W3C trace context of the request or message that caused it.
    pub const TRACEPARENT: &str = "traceparent";
}

/// The attributes of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The event's id.
    pub id: EventId,
    /// Type and version.
    pub kind: String,
    /// The service that publishes it.
    pub source: String,
    /// The aggregate's id.
    pub aggregate: Uuid,
    /// Its number in the aggregate's history, from 1.
    pub sequence: i64,
    /// When it was written.
    pub time: Timestamp,
    /// Whose data it is.
    pub tenant: TenantId,
    /// Trace context, if the cause had one.
    pub traceparent: Option<String>,
}

/// A record's headers are not a valid envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeError {
    header: &'static str,
    problem: &'static str,
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "header {} {}", self.header, self.problem)
    }
}

impl std::error::Error for EnvelopeError {}

/// A source must be a name, because databases index it.
const NOT_A_SOURCE: EnvelopeError =
    EnvelopeError { header: header::SOURCE, problem: "is not a service's name" };

/// Accepts `00-<32 hex>-<16 hex>-<2 hex>` with both ids non-zero. Source: W3C Trace Context.
pub fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let [version, trace, parent, flags] = parts[..] else { return false };
    version == "00"
        && hex(trace, 32)
        && hex(parent, 16)
        && hex(flags, 2)
        && trace.bytes().any(|b| b != b'0')
        && parent.bytes().any(|b| b != b'0')
}

impl Envelope {
    /// Whether the text is a valid source, which is a service's name.
    pub fn is_source(text: &str) -> bool {
        is_name(text)
    }

    /// The record headers, in a fixed order.
    pub fn to_headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            (header::ID, self.id.to_string()),
            (header::TYPE, self.kind.clone()),
            (header::SOURCE, self.source.clone()),
            (header::SUBJECT, self.aggregate.to_string()),
            (header::SEQUENCE, self.sequence.to_string()),
            (header::TIME, self.time.to_string()),
            (header::TENANT, self.tenant.to_string()),
        ];
        headers.extend(self.traceparent.clone().map(|t| (header::TRACEPARENT, t)));
        headers
    }

    /// Decodes an envelope; `get` finds a header by name.
    ///
    /// # Errors
    /// [`EnvelopeError`] names a header that is missing or not valid. A wrong `traceparent` is not an error; it is left out.
    pub fn from_headers<'h>(get: impl Fn(&str) -> Option<&'h [u8]>) -> Result<Self, EnvelopeError> {
        let text = |name: &'static str| {
            let bytes = get(name).ok_or(EnvelopeError { header: name, problem: "is missing" })?;
            std::str::from_utf8(bytes).map_err(|_| EnvelopeError { header: name, problem: "is not text" })
        };
        let uuid = |name: &'static str| {
            Uuid::parse_str(text(name)?).map_err(|_| EnvelopeError { header: name, problem: "is not a UUID" })
        };
        let sequence = text(header::SEQUENCE)?.parse::<i64>().ok().filter(|n| *n >= 1);
        Ok(Self {
            id: uuid(header::ID)?.into(),
            kind: text(header::TYPE)?.to_owned(),
            source: text(header::SOURCE)
                .and_then(|text| if Self::is_source(text) { Ok(text) } else { Err(NOT_A_SOURCE) })?
                .to_owned(),
            aggregate: uuid(header::SUBJECT)?,
            sequence: sequence
                .ok_or(EnvelopeError { header: header::SEQUENCE, problem: "is not a number from 1" })?,
            time: Timestamp::from_rfc3339(text(header::TIME)?),
            tenant: text(header::TENANT)?
                .parse()
                .map_err(|_| EnvelopeError { header: header::TENANT, problem: "is not a tenant's name" })?,
            // Follow-up events carry it on, so only a valid value is kept.
            traceparent: get(header::TRACEPARENT)
                .and_then(|b| std::str::from_utf8(b).ok())
                .filter(|text| is_traceparent(text))
                .map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_traceparent_of_version_00_with_two_ids_is_valid() {
        assert!(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        for bad in [
            "",
            "x",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }

    #[test]
    fn an_envelope_with_a_missing_or_broken_header_names_the_header() {
        let headers = [
            (header::ID, "00000000-0000-0000-0000-000000000001"),
            (header::TYPE, "orders.OrderPlaced.v1"),
            (header::SOURCE, "orders"),
            (header::SUBJECT, "00000000-0000-0000-0000-000000000002"),
            (header::SEQUENCE, "1"),
            (header::TIME, "2026-11-20T12:00:00Z"),
            (header::TENANT, "demo"),
        ];
        let find = |headers: &[(&str, &'static str)], name: &str| {
            headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_bytes())
        };
        assert!(Envelope::from_headers(|name| find(&headers, name)).is_ok());
        for broken in 0..headers.len() {
            let mut missing = headers.to_vec();
            let (name, _) = missing.remove(broken);
            let error = Envelope::from_headers(|n| find(&missing, n)).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
        for (name, value) in [
            (header::SEQUENCE, "0"),
            (header::SEQUENCE, "x"),
            (header::TENANT, "a b"),
            (header::ID, "7"),
            (header::SOURCE, "a b"),
        ] {
            let mut bad = headers.to_vec();
            bad.iter_mut().find(|(n, _)| *n == name).unwrap().1 = value;
            assert!(Envelope::from_headers(|n| find(&bad, n)).unwrap_err().to_string().contains(name));
        }
    }
}
