//! How a server refuses a request and marks a replay. The default statuses of `missing`, `in_progress` and `reused` are those
//! of the IETF draft, which names none for the others.

use serde::Deserialize;

/// Headers that describe the result of a command.
const REPEATED: [&str; 7] =
    ["Content-Language", "Content-Location", "Content-Type", "ETag", "Last-Modified", "Link", "Location"];

/// The refusals of a server, and the mark of a replay.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Responses {
    /// JSON pointer to the code of a refusal.
    pub(crate) code: String,
    pub(crate) missing: Refusal,
    pub(crate) invalid: Refusal,
    pub(crate) in_progress: Refusal,
    pub(crate) reused: Refusal,
    pub(crate) expired: Refusal,
    pub(crate) fenced: Refusal,
    /// The header of a replay.
    pub(crate) replayed: Option<Marker>,
    /// A response has the `Idempotency-Key` of its request.
    pub(crate) names_key: bool,
    /// Headers that a replay repeats with their values.
    pub(crate) repeated: Vec<String>,
}

/// A refusal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The code; absent if the status says enough.
    pub(crate) code: Option<String>,
    /// True if the refusal has a `Retry-After`, false if it has none. Absent: not checked.
    pub(crate) retry_after: Option<bool>,
}

/// A header with its value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Marker {
    pub(crate) header: String,
    pub(crate) value: String,
}

impl Default for Responses {
    fn default() -> Self {
        let status = |status| Refusal { status, code: None, retry_after: None };
        Self {
            code: "/code".to_owned(),
            missing: status(400),
            invalid: status(400),
            in_progress: status(409),
            reused: status(422),
            expired: status(422),
            fenced: status(409),
            replayed: None,
            names_key: false,
            repeated: REPEATED.map(str::to_owned).to_vec(),
        }
    }
}
