//! Times on the wire. They stay text here, so that this crate needs no calendar library.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A moment as RFC 3339 in UTC, for instance `2026-11-20T12:00:00.123456Z`. Not parsed here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
#[serde(transparent)]
pub struct Timestamp(String);

impl Timestamp {
    /// Wraps text that is RFC 3339 in UTC.
    pub fn from_rfc3339(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
