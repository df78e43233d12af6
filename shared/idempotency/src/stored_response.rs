//! `StoredResponse`: the HTTP response that is stored with a key and replayed byte for byte, and how long it is kept.

use chrono::TimeDelta;
use database::Result;
use diesel::Queryable;
use diesel::result::Error::DeserializationError;
use serde_json::Value;

/// A response as every retry gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// The headers that are stored with the response, in order.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

/// Status, headers and body as columns; NULL where no response is stored, or where it has been erased.
#[derive(Queryable)]
pub(crate) struct ResponseColumns(Option<i32>, Option<Value>, Option<Vec<u8>>);

impl TryFrom<ResponseColumns> for Option<StoredResponse> {
    type Error = database::Error;

    /// Returns `None` if a column is NULL. Fails on a status or headers that this program did not write.
    fn try_from(columns: ResponseColumns) -> Result<Self> {
        let ResponseColumns(Some(status), Some(headers), Some(body)) = columns else { return Ok(None) };
        let status = u16::try_from(status).map_err(|error| DeserializationError(Box::new(error)))?;
        let headers =
            serde_json::from_value(headers).map_err(|error| DeserializationError(Box::new(error)))?;
        Ok(Some(StoredResponse { status, headers, body }))
    }
}

impl StoredResponse {
    /// The headers as ordered pairs of name and value, because a header may occur twice.
    pub(crate) fn headers_as_json(&self) -> Value {
        self.headers.iter().map(|(name, value)| Value::from_iter([name.as_str(), value])).collect()
    }
}

/// How long a key and its response are kept, counted from completion by the database's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// For this long the response is replayed. After that the key is refused as expired.
    pub reply: TimeDelta,
    /// For this long the key is remembered. After that it may be used again.
    pub tombstone: TimeDelta,
}

impl Default for Retention {
    fn default() -> Self {
        Self { reply: TimeDelta::hours(24), tombstone: TimeDelta::days(30) }
    }
}
