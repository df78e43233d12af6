//! Requests and responses of the cases.

mod client;
mod raw;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::case_error::{CaseResult, ensure};
use crate::target::Caller;

pub(crate) use client::Client;
pub(crate) use raw::Connection;

/// The name of the header with the key.
pub(crate) const KEY_HEADER: &str = "Idempotency-Key";

/// A request. A retry sends the same value, and so the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The instance, counted from 0.
    pub(crate) instance: usize,
    pub(crate) caller: Option<Caller>,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Header lines in their order, with the key among them.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The same request with this header line added.
    #[must_use]
    pub(crate) fn with_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// The same request without a header.
    #[must_use]
    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(header, _)| !header.eq_ignore_ascii_case(name));
        self
    }

    /// The same request with this header instead of the one that it has.
    #[must_use]
    pub(crate) fn with_only_header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without_header(name).with_header(name, value)
    }

    /// The same request with this value of the key header.
    #[must_use]
    pub(crate) fn with_key(self, key: impl AsRef<[u8]>) -> Self {
        self.with_only_header(KEY_HEADER, key)
    }

    /// The same request with another body.
    #[must_use]
    pub(crate) fn with_body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The same request with another method.
    #[must_use]
    pub(crate) fn with_method(self, method: &str) -> Self {
        Self { method: method.to_owned(), ..self }
    }

    /// The same request with another path.
    #[must_use]
    pub(crate) fn with_path(self, path: impl Into<String>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// The same request with one more parameter in its query.
    #[must_use]
    pub(crate) fn with_query(self, query: &str) -> Self {
        let mark = if self.path.contains('?') { '&' } else { '?' };
        let path = format!("{}{mark}{query}", self.path);
        self.with_path(path)
    }

    /// The same request by another caller; without one, it has no credentials.
    #[must_use]
    pub(crate) fn by(self, caller: impl Into<Option<Caller>>) -> Self {
        Self { caller: caller.into(), ..self }
    }

    /// The same request to another instance.
    #[must_use]
    pub(crate) fn at(self, instance: usize) -> Self {
        Self { instance, ..self }
    }
}

/// A response, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON; null if the body is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Fails unless the response has one of these statuses.
    pub(crate) fn expect_status(&self, statuses: &[u16]) -> CaseResult {
        ensure(statuses.contains(&self.status), || format!("expected {statuses:?}, got {}", self.summary()))
    }

    /// Fails unless the response is an error of the client.
    pub(crate) fn expect_client_error(&self) -> CaseResult {
        ensure((400..500).contains(&self.status), || format!("expected 4xx, got {}", self.summary()))
    }

    /// The status and the beginning of the body, for a report.
    pub(crate) fn summary(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        let body: String = body.chars().take(200).collect();
        format!("{} {body}", self.status)
    }
}
