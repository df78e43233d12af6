//! What comes back.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::part::Instance;
use crate::trouble::Trouble;

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(super) request: String,
    /// Who has answered.
    pub(crate) instance: Instance,
    pub(crate) status: u16,
    pub(super) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    pub(crate) took: Duration,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// What belongs to the answer itself: all of it but the marks of the replay.
    pub(crate) fn receipt(&self) -> (u16, Option<&str>, Option<&str>, &[u8]) {
        (self.status, self.header("content-type"), self.header("location"), &self.bytes)
    }

    /// The problem's code; empty if it is none.
    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        body["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, status: u16) -> Result<T, Trouble> {
        let request = self.request.clone();
        if self.status != status {
            let body = String::from_utf8_lossy(&self.bytes).into_owned();
            return Err(Trouble::OtherAnswer { request, expected: status, status: self.status, body });
        }
        let read = serde_json::from_slice(&self.bytes);
        read.map_err(|error| Trouble::Unreadable { request, reason: error.to_string() })
    }
}
