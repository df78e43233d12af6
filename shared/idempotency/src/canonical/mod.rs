//! One form for all spellings of a JSON value, so that a retry written by another library is the same request, and
//! another amount never is.
//!
//! The form is RFC 8785 (members sorted by UTF-16 code units, minimal escapes, no white space), except that numbers
//! are exact. RFC 8785 rounds them to IEEE 754 doubles, where 9007199254740993 and 9007199254740992 are one number;
//! a key reused with the other amount would be answered with the first one's receipt. Here a number is its decimal
//! digits and exponent: 1, 1.0, 1e0 and 10e-1 are equal, 0.1 and 0.10000000000000001 are not, and -0 is 0, because a
//! decimal zero has no sign. The notation is RFC 8785's (plain from 10^-6 up to 10^21, else with an exponent).
//!
//! Stricter than RFC 8259, because parsers disagree about these and one of them could act on another value than the
//! one compared: duplicate member names, U+0000 and lone surrogates in strings, nesting deeper than
//! [`Limits::max_depth`], numbers of more than 64 significant digits or with an exponent beyond ±400 (as in
//! d.ddd × 10^exponent).

mod cursor;
mod decimal;
mod error;
mod members;
#[cfg(test)]
mod properties;
mod reader;
mod string;
#[cfg(test)]
mod tests;

pub use error::{JsonError, JsonErrorKind};

/// How much structure a document may have. Its size in bytes is the caller's to limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many arrays and objects may stand inside each other; 0 allows a scalar only. The type keeps it small,
    /// because reading uses the stack once for each level.
    pub max_depth: u8,
}

impl Default for Limits {
    /// 64 levels.
    fn default() -> Self {
        Self { max_depth: 64 }
    }
}

/// The canonical bytes of the one JSON value in `bytes`, or the first thing that is wrong with it.
///
/// Time grows as n log n in the number of members, and memory with the length of `bytes`: exponents are never
/// expanded (the result is at most about five times as long, where `1e20` becomes its 21 digits).
pub fn canonicalise(bytes: &[u8], limits: Limits) -> Result<Vec<u8>, JsonError> {
    reader::read_document(bytes, limits).map_err(|error| error.locate(bytes))
}
