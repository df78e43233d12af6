//! What the executor can say, without knowing HTTP's manners.

use chrono::{DateTime, Utc};
use serde_json::Value;

/// The answer to keep: every retry gets these bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// HTTP status.
    pub status: u16,
    /// The headers that belong to the answer, in order.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl StoredResponse {
    /// From its columns; `None` if it is not there, or not any more.
    pub(crate) fn from_columns(
        status: Option<i16>,
        headers: Option<Value>,
        body: Option<Vec<u8>>,
    ) -> Option<Self> {
        let status = u16::try_from(status?).unwrap_or(500);
        Some(Self { status, headers: serde_json::from_value(headers?).unwrap_or_default(), body: body? })
    }

    /// Ordered pairs of name and value: a header may come twice.
    pub(crate) fn headers_as_json(&self) -> Value {
        self.headers.iter().map(|(name, value)| Value::from_iter([name.as_str(), value])).collect()
    }
}

/// How a command ends when it does not succeed.
#[derive(Debug)]
pub enum CommandError {
    /// A business rule says no: undone, but stored and replayed like a success.
    Rejected(StoredResponse),
    /// Undone and not stored: the same key may try again (the caller may not, or something is not there yet).
    Refused(StoredResponse),
    /// The infrastructure failed: undone and not stored.
    Database(database::Error),
}

impl From<database::Error> for CommandError {
    fn from(error: database::Error) -> Self {
        Self::Database(error)
    }
}

impl From<diesel::result::Error> for CommandError {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

/// What a request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was carried out now; the receipt is committed.
    Executed(StoredResponse),
    /// It was carried out before: the first answer again.
    Replayed {
        /// As it was given the first time.
        receipt: StoredResponse,
        /// When that was.
        first: DateTime<Utc>,
    },
    /// Not carried out, and not remembered.
    Refused(StoredResponse),
    /// The same key is being carried out right now.
    InProgress,
    /// The key was used for another request.
    Reused,
    /// The key was used, and its answer has been erased.
    Expired,
}
