//! The caller's name for one intent: parsed once, so that every spelling of a key is the same key everywhere.

mod header;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// Which keys a route accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyPolicy {
    /// A UUID of any version in its usual form, 8-4-4-4-12 hexadecimal digits. Letter case does not matter: the key
    /// is kept in lower case, because libraries differ in the case that they print.
    #[default]
    Uuid,
    /// 16 to 255 bytes of visible ASCII (`%x21-7E`), compared byte for byte.
    Any,
}

/// A well-formed idempotency key.
///
/// Whoever knows a key and its caller can ask for the stored reply, so a key is not for logs: there is no `Display`,
/// and `Debug` prints [`Key::short_hash`] alone.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The shortest key in bytes: less is guessed, or chosen twice.
    pub const MIN_LENGTH: usize = 16;
    /// The longest key in bytes.
    pub const MAX_LENGTH: usize = 255;

    /// Reads the value of one `Idempotency-Key` header line: `"quoted"`, with or without parameters (RFC 9651), or
    /// bare. Both forms give the same key.
    ///
    /// A request must have exactly one such line. Only the edge sees all lines, so it makes that check.
    pub fn parse(header_value: &[u8], policy: KeyPolicy) -> Result<Self, KeyError> {
        let text = header::read(header_value)?;
        match policy {
            KeyPolicy::Uuid if text.is_empty() => Err(KeyError::Empty),
            KeyPolicy::Uuid if is_hyphenated_uuid(&text) => Ok(Self(text.to_ascii_lowercase())),
            KeyPolicy::Uuid => Err(KeyError::NotUuid),
            KeyPolicy::Any => Self::of_allowed_length(text),
        }
    }

    /// A key that the system makes for a command of its own, such as the expiry of an order. The text follows the
    /// rules of [`KeyPolicy::Any`]; it cannot meet a client's key, as the client is part of a record's scope.
    pub fn from_server(text: impl Into<String>) -> Result<Self, KeyError> {
        let text = text.into();
        match text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(at) => Err(KeyError::WrongCharacter { position: at + 1 }),
            None => Self::of_allowed_length(text),
        }
    }

    /// The key itself: for the record, never for a log.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight hexadecimal digits of the key's SHA-256: tells keys apart in logs without giving them away.
    pub fn short_hash(&self) -> String {
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(&self.0).into();
        format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
    }

    fn of_allowed_length(text: String) -> Result<Self, KeyError> {
        match text.len() {
            0 => Err(KeyError::Empty),
            length if length < Self::MIN_LENGTH => Err(KeyError::TooShort { length }),
            length if length > Self::MAX_LENGTH => Err(KeyError::TooLong { length }),
            _ => Ok(Self(text)),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(#{})", self.short_hash())
    }
}

/// Not `uuid::Uuid::parse_str`: that also takes braces, `urn:uuid:` and no hyphens, which would be further spellings
/// of one key.
fn is_hyphenated_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Why a header value is not a key, and what to send instead. Positions are bytes of the header value (surrounding
/// blanks removed), counted from 1; the value itself is never repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No header value, or `""`.
    #[error(
        "the key is empty; make a UUID for each new command, and send the same one again when you retry it"
    )]
    Empty,
    /// Several members, or a parenthesised list.
    #[error("the header holds a list; send exactly one key with each request")]
    List,
    /// Outside `%x21-7E`.
    #[error("byte {position} is not visible ASCII; use letters, digits and punctuation, without spaces")]
    WrongCharacter {
        /// Where.
        position: usize,
    },
    /// Visible ASCII that only a quoted key may hold.
    #[error(
        "byte {position} may not stand in a key without quotes; put the key in double quotes, or use letters, digits \
         and `._~:+/=-` only"
    )]
    NeedsQuotes {
        /// Where.
        position: usize,
    },
    /// Fewer than [`Key::MIN_LENGTH`] bytes.
    #[error("the key has {length} bytes and needs at least {}; a UUID will do", Key::MIN_LENGTH)]
    TooShort {
        /// Bytes after unquoting.
        length: usize,
    },
    /// More than [`Key::MAX_LENGTH`] bytes.
    #[error("the key has {length} bytes and may have at most {}; a UUID will do", Key::MAX_LENGTH)]
    TooLong {
        /// Bytes after unquoting.
        length: usize,
    },
    /// The route wants a UUID.
    #[error("the key is not a UUID; send one such as \"8e03978e-40d5-43e8-bc93-6894a57f9324\"")]
    NotUuid,
    /// A structured field, but no string.
    #[error("the header holds {found}; send the key as a string in double quotes")]
    OtherType {
        /// Which type, with its article.
        found: &'static str,
    },
    /// The string never ends.
    #[error("the closing double quote is missing; write \"key\"")]
    Unterminated,
    /// `\` before something else than `"` or `\`.
    #[error("byte {position} is a backslash that escapes nothing; in quotes write \\\\ for one backslash")]
    WrongEscape {
        /// Where.
        position: usize,
    },
    /// Something behind the string that is no parameter.
    #[error("byte {position} follows the key but is no parameter; end the value at the closing quote")]
    WrongParameter {
        /// Where.
        position: usize,
    },
}
