//! `Key`: the idempotency key of a request. It is parsed once, so that all spellings of a key are the same key.

#[cfg(test)]
mod fuzz;
mod header;
#[cfg(test)]
mod tests;

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The keys that a service accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum KeyPolicy {
    /// A UUID of any version, neither nil nor max, as 8-4-4-4-12 hexadecimal digits. The key is stored in lower case, because libraries differ
    /// in the case that they print.
    #[default]
    Uuid,
    /// 16 to 255 bytes of visible ASCII (`%x21-7E`), neither the nil nor the max UUID, compared byte for byte.
    Any,
}

/// A well-formed idempotency key.
///
/// A key must not be logged, because a client that knows a key can request the stored response. So there is no `Display`,
/// and `Debug` prints [`Key::short_hash`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The shortest key in bytes. Shorter keys can be guessed, or chosen twice.
    pub const MIN_LENGTH: usize = 16;
    /// The longest key in bytes.
    pub const MAX_LENGTH: usize = 255;

    /// Reads the value of one `Idempotency-Key` header line: `"quoted"`, with or without parameters (RFC 9651), or
    /// bare. Both forms give the same key.
    ///
    /// A request must have exactly one such line. The edge checks that, because only the edge sees all lines.
    ///
    /// # Errors
    /// [`KeyError`] says why the value is no key under this policy, and what to send instead.
    pub fn parse(header_value: &[u8], policy: KeyPolicy) -> Result<Self, KeyError> {
        let text = header::read(header_value)?;
        match policy {
            _ if is_placeholder(&text) => Err(KeyError::Placeholder),
            KeyPolicy::Uuid if text.is_empty() => Err(KeyError::Empty),
            KeyPolicy::Uuid if is_hyphenated_uuid(&text) => Ok(Self(text.to_ascii_lowercase())),
            KeyPolicy::Uuid => Err(KeyError::NotUuid),
            KeyPolicy::Any => Self::of_allowed_length(text),
        }
    }

    /// The key itself, for the record. It must not be logged.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first eight hexadecimal digits of the key's SHA-256. They distinguish keys in logs without showing them.
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

/// `uuid::Uuid::parse_str` is not used, because it also accepts braces, `urn:uuid:` and no hyphens. These would be further
/// spellings of one key.
fn is_hyphenated_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The nil and the max UUID (RFC 9562, sections 5.9 and 5.10), also without hyphens. A program sends one if its variable was
/// never set, and all its commands would have one key.
fn is_placeholder(text: &str) -> bool {
    let is_written = |digit: u8| text.bytes().all(|byte| byte == b'-' || byte.to_ascii_lowercase() == digit);
    let is_as_long = (text.len() == 32 && !text.contains('-')) || is_hyphenated_uuid(text);
    is_as_long && (is_written(b'0') || is_written(b'f'))
}

/// Why a header value is not a key, and what to send instead. Positions count bytes of the trimmed header value from 1.
/// The messages do not repeat the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The header value is empty, or `""`.
    #[error(
        "the key is empty; make a UUID for each new command, and send the same one again when you retry it"
    )]
    Empty,
    /// The value has several members, or is a parenthesised list.
    #[error("the header holds a list; send exactly one key with each request")]
    List,
    /// A byte is outside `%x21-7E`.
    #[error("byte {position} is not visible ASCII; use letters, digits and punctuation, without spaces")]
    WrongCharacter {
        /// The position.
        position: usize,
    },
    /// The character is allowed in a quoted key only.
    #[error(
        "byte {position} is not allowed in a key without quotes; put the key in double quotes, or use letters, digits \
         and `._~:+/=-` only"
    )]
    NeedsQuotes {
        /// The position.
        position: usize,
    },
    /// The key has fewer than [`Key::MIN_LENGTH`] bytes.
    #[error("the key has {length} bytes and needs at least {}; a UUID will do", Key::MIN_LENGTH)]
    TooShort {
        /// Bytes after unquoting.
        length: usize,
    },
    /// The key has more than [`Key::MAX_LENGTH`] bytes.
    #[error("the key has {length} bytes and may have at most {}; a UUID will do", Key::MAX_LENGTH)]
    TooLong {
        /// Bytes after unquoting.
        length: usize,
    },
    /// The service accepts UUIDs only.
    #[error("the key is not a UUID; send one such as \"8e03978e-40d5-43e8-bc93-6894a57f9324\"")]
    NotUuid,
    /// The nil or the max UUID.
    #[error("the key is the UUID of a variable that was never set; make a new UUID for each new command")]
    Placeholder,
    /// The value is a structured field of another type.
    #[error("the header holds {found}; send the key as a string in double quotes")]
    OtherType {
        /// The type, with its article.
        found: &'static str,
    },
    /// The closing quote is missing.
    #[error("the closing double quote is missing; write \"key\"")]
    Unterminated,
    /// A backslash before a character other than `"` or `\`.
    #[error("byte {position} is a backslash that escapes nothing; in quotes write \\\\ for one backslash")]
    WrongEscape {
        /// The position.
        position: usize,
    },
    /// Text after the string that is not a parameter.
    #[error("byte {position} follows the key but is no parameter; end the value at the closing quote")]
    WrongParameter {
        /// The position.
        position: usize,
    },
}
