//! Optional members of a command: absent or a value, as generated clients send them.

use serde::{Deserialize, Deserializer};

/// Reads an optional member that is present, for `#[serde(default, deserialize_with = "edge::not_null")]`. Null is refused,
/// because it would be a second form of the same command, with another fingerprint.
///
/// # Errors
/// The deserializer's error if the member is null, or not a `T`.
pub fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(member: D) -> Result<Option<T>, D::Error> {
    T::deserialize(member).map(Some)
}
