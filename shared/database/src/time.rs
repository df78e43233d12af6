//! Times between the database and the wire.

use chrono::{DateTime, SecondsFormat, Utc};

/// RFC 3339 in UTC with microseconds, which is what PostgreSQL keeps.
pub fn to_rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Reads RFC 3339; `None` if it is not.
pub fn from_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}
