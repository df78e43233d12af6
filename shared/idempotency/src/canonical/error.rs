//! `JsonError`: the first error of a document, with its position in the terms of the document's author.

/// The largest number of significant digits, without the zeros at both ends.
pub(super) const MAX_DIGITS: usize = 64;
/// The largest exponent, either way, of a number written as d.ddd × 10^exponent.
pub(super) const MAX_EXPONENT: i64 = 400;

/// The first error of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct JsonError {
    /// RFC 6901 pointer to the innermost value that was being read, to the member that is a duplicate, or to the element
    /// that a comma or `]` should precede; "" is the whole document. It repeats names from the document.
    pub pointer: String,
    /// Line, from 1; `\n` ends a line.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: JsonErrorKind,
}

/// The kinds of errors; the text says what to send instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    /// U+FEFF in front.
    #[error("the document starts with a byte order mark; send UTF-8 without one")]
    ByteOrderMark,
    /// The document is not JSON, in the words of `serde_json`.
    #[error("{0}")]
    Syntax(String),
    /// Half of a surrogate pair.
    #[error("the string escapes half of a surrogate pair; write both halves, or the character itself")]
    LoneSurrogate,
    /// U+0000, which PostgreSQL cannot store.
    #[error("U+0000 is not accepted in strings")]
    NullCharacter,
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
        /// The deepest allowed nesting.
        limit: u8,
    },
}

impl JsonError {
    /// The error of the name or value that begins at `start`.
    pub(super) fn refused(document: &[u8], start: usize, pointer: String, what: JsonErrorKind) -> Self {
        let before = document[..start].split(|byte| *byte == b'\n');
        let bytes_in_line = before.clone().next_back().unwrap_or_default().len();
        Self::at(document, before.count(), bytes_in_line + 1, pointer, what)
    }

    pub(super) fn of_syntax(document: &[u8], error: &serde_json::Error, pointer: String) -> Self {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        Self::at(document, error.line(), error.column(), pointer, JsonErrorKind::Syntax(what.to_owned()))
    }

    /// An error at the last character of the first `bytes` of a line.
    fn at(document: &[u8], line: usize, bytes: usize, pointer: String, what: JsonErrorKind) -> Self {
        let text = document.split(|byte| *byte == b'\n').nth(line - 1).unwrap_or_default();
        let starts_character = |byte: &&u8| **byte & 0b1100_0000 != 0b1000_0000;
        let column = text.iter().take(bytes).filter(starts_character).count().max(1);
        Self { pointer, line, column, what }
    }
}
