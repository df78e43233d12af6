//! Conversion of times between the database and JSON.

use chrono::{DateTime, SecondsFormat, Utc};

/// Writes RFC 3339 in UTC with microseconds, the precision of PostgreSQL.
pub fn to_rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Micros, true)
}

/// Reads RFC 3339; `None` if the text is not a time.
pub fn from_rfc3339(text: &str) -> Option<DateTime<Utc>> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc))
}
