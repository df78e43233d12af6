//! Canonical JSON: one form for all spellings of a value. A retry that another library writes is the same request, and a
//! request with another amount never is.
//!
//! The form is RFC 8785 (members sorted by UTF-16 code units, minimal escapes, no white space), except that numbers
//! are exact. RFC 8785 rounds them to IEEE 754 doubles, where 9007199254740993 and 9007199254740992 are one number;
//! a key reused with the other amount would get the response of the first. Here a number is its decimal
//! digits and exponent: 1, 1.0, 1e0 and 10e-1 are equal, 0.1 and 0.10000000000000001 are not, and -0 is 0, because a
//! decimal zero has no sign. The notation is RFC 8785's (plain from 10^-6 up to 10^21, else with an exponent).
//!
//! `serde_json` reads the grammar of RFC 8259. Beyond it the form is strict where parsers disagree, because a parser could
//! act on another value than the compared one. It refuses duplicate member names, U+0000 and lone surrogates in strings,
//! nesting deeper than 64 levels, numbers of more than 64 significant digits or with an exponent beyond ±400
//! (as in d.ddd × 10^exponent).

mod decimal;
mod error;
#[cfg(test)]
mod fuzz;
mod members;
#[cfg(test)]
mod properties;
mod reader;
#[cfg(test)]
mod tests;

pub use error::{JsonError, JsonErrorKind};

/// The deepest nesting of arrays and objects. Reading recurses once for each level, and `serde_json` itself refuses more
/// than 127.
const MAX_DEPTH: u8 = 64;

/// Returns the canonical form of the JSON value in `bytes`.
///
/// Time grows as n log n in the number of members, and memory with the length of `bytes`: exponents are never
/// expanded (the result is at most about five times as long, where `1e20` becomes its 21 digits). The caller limits the
/// size of `bytes`.
///
/// # Errors
/// [`JsonError`] with the first place that is not JSON, or that this form refuses: [`JsonErrorKind`] lists why.
pub fn canonicalise(bytes: &[u8]) -> Result<Vec<u8>, JsonError> {
    reader::read_document(bytes, MAX_DEPTH)
}
