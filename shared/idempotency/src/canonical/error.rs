//! `JsonError`: the first error of a document, with its position in the terms of the document's author.

/// The largest number of significant digits, without the zeros at both ends.
pub(super) const MAX_DIGITS: usize = 64;
/// The largest exponent, either way, of a number written as d.ddd × 10^exponent.
pub(super) const MAX_EXPONENT: i64 = 400;

/// The first error of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct JsonError {
    /// RFC 6901 pointer to the innermost value that was being read, or to the member that is a duplicate; "" is the
    /// whole document. It repeats names from the document.
    pub pointer: String,
    /// The number of bytes before the error.
    pub offset: usize,
    /// Line, from 1; `\n` ends a line.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: JsonErrorKind,
}

/// The kinds of errors; the text says what to send instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// The document has no value.
    #[error("the document is empty; send one JSON value")]
    Empty,
    /// U+FEFF in front.
    #[error("the document starts with a byte order mark; send UTF-8 without one")]
    ByteOrderMark,
    /// Text follows the value.
    #[error("something follows the value; send one JSON value only")]
    TrailingBytes,
    /// The grammar does not allow this byte here.
    #[error("expected {0}")]
    Expected(&'static str),
    /// The document is incomplete.
    #[error("the document ends where it needs {0}")]
    Ended(&'static str),
    /// Bytes in a string that are not UTF-8.
    #[error("the string is not valid UTF-8")]
    InvalidUtf8,
    /// U+0000 to U+001F without an escape.
    #[error("a control character in a string must be escaped, for instance as \\n or \\u001f")]
    ControlCharacter,
    /// A backslash before a character that needs no escape.
    #[error(
        "not an escape; write one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u and four hexadecimal digits"
    )]
    WrongEscape,
    /// Half of a surrogate pair.
    #[error("\\u escapes half of a surrogate pair; write both halves, or the character itself")]
    LoneSurrogate,
    /// U+0000, which PostgreSQL cannot store.
    #[error("U+0000 is not accepted in strings")]
    NullCharacter,
    /// `01`.
    #[error("a number must not start with a superfluous zero")]
    LeadingZero,
    /// The number has too many digits.
    #[error("the number has more than {MAX_DIGITS} significant digits")]
    TooManyDigits,
    /// The number is too large or too small.
    #[error("the number's exponent, written as d.ddd × 10^exponent, is beyond ±{MAX_EXPONENT}")]
    ExponentOutOfRange,
    /// The same name twice in one object, compared after unescaping.
    #[error("the object already has a member of this name")]
    DuplicateMember,
    /// Arrays and objects are nested too deeply.
    #[error("nested deeper than {limit} levels")]
    TooDeep {
        /// [`super::Limits::max_depth`].
        limit: u8,
    },
}

/// An error while the reader returns from its recursion. Each level adds its step to the pointer, so a document without
/// errors builds no pointer.
#[derive(Debug)]
pub(super) struct ReadError {
    what: JsonErrorKind,
    offset: usize,
    pointer: String,
}

impl ReadError {
    pub(super) fn at(offset: usize, what: JsonErrorKind) -> Self {
        Self { what, offset, pointer: String::new() }
    }

    /// Adds the member's name to the pointer.
    pub(super) fn in_member(mut self, name: &str) -> Self {
        self.pointer.insert_str(0, &name.replace('~', "~0").replace('/', "~1"));
        self.pointer.insert(0, '/');
        self
    }

    /// Adds the element's index to the pointer.
    pub(super) fn in_element(mut self, index: usize) -> Self {
        self.pointer.insert_str(0, &format!("/{index}"));
        self
    }

    pub(super) fn locate(self, document: &[u8]) -> JsonError {
        let before = &document[..self.offset.min(document.len())];
        let lines = before.split(|&byte| byte == b'\n');
        let starts_character = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
        let last_line = lines.clone().next_back().unwrap_or_default();
        JsonError {
            pointer: self.pointer,
            offset: self.offset,
            line: lines.count(),
            column: 1 + last_line.iter().filter(starts_character).count(),
            what: self.what,
        }
    }
}
