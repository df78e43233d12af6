//! Parses JSON to a typed request. Every validation error names its place in the request.

use std::fmt::Display;
use std::str::FromStr;

use audit::has_card_number;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use utoipa::ToSchema;

use crate::{Problem, problem_types};

/// One error in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ValidationError {
    /// The place: a JSON Pointer (RFC 6901) into the body, or the name of a parameter or header.
    #[schema(examples("/lines/0/quantity"))]
    pub pointer: String,
    /// What is wrong, and what is expected.
    pub detail: String,
}

/// Whether a client's own reference may contain a card number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CardNumbers {
    /// The request is refused.
    #[default]
    Refused,
    /// The reference is stored. It is in rows and responses, and in no event, audit fact or log line.
    Stored,
}

/// Collects all errors of a request, so that a client can correct them together.
#[derive(Debug, Default)]
pub struct ValidationErrors {
    errors: Vec<ValidationError>,
    in_references: CardNumbers,
}

impl ValidationErrors {
    pub(crate) fn new(in_references: CardNumbers) -> Self {
        Self { errors: Vec::new(), in_references }
    }

    /// Adds an error unless `holds`.
    pub fn require(&mut self, holds: bool, pointer: impl Into<String>, detail: impl Into<String>) {
        if !holds {
            self.errors.push(ValidationError { pointer: pointer.into(), detail: detail.into() });
        }
    }

    /// Adds the error of parsing, unless this text is a `T`. The error must not repeat the text.
    pub fn require_parsed<T: FromStr<Err: Display>>(&mut self, text: &str, pointer: &str) {
        if let Err(error) = text.parse::<T>() {
            self.require(false, pointer, error.to_string());
        }
    }

    /// Adds an error unless this text has 1 to 200 characters, no control characters and no card number. Because events, audit
    /// facts and rows keep such texts, a request with a card number is refused before anything of it is stored.
    pub fn require_text(&mut self, text: &str, pointer: &str, what: &str) {
        if self.require_words(text, pointer, what) {
            let has_card = has_card_number(text);
            self.require(!has_card, pointer, format!("a {what} must not contain a card number"));
        }
    }

    /// The same for a client's own reference, of which the setting `http.card_numbers_in_references` allows card numbers.
    pub fn require_reference(&mut self, text: &str, pointer: &str) {
        match self.in_references {
            CardNumbers::Refused => self.require_text(text, pointer, "reference"),
            CardNumbers::Stored => drop(self.require_words(text, pointer, "reference")),
        }
    }

    /// Adds an error unless this text has 1 to 200 characters and no control characters. Returns whether the text is so.
    pub fn require_words(&mut self, text: &str, pointer: &str, what: &str) -> bool {
        // A longer text is not read further.
        let has_length = (1..=200).contains(&text.chars().take(201).count());
        let is_text = has_length && !text.chars().any(char::is_control);
        self.require(is_text, pointer, format!("a {what} has 1 to 200 characters, no control characters"));
        is_text
    }

    pub(crate) fn into_problem(self) -> Option<Problem> {
        (!self.errors.is_empty()).then(|| invalid("The request is not valid; see errors.", self.errors))
    }
}

pub(crate) fn invalid(detail: impl Into<String>, errors: Vec<ValidationError>) -> Problem {
    Problem::new(&problem_types::REQUEST_INVALID, detail).with_errors(errors)
}

/// Parses JSON; an error names its place.
pub(crate) fn parse<W: DeserializeOwned>(body: &[u8]) -> Result<W, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let pointer = pointer(error.path());
        let detail = describe(&error.into_inner().to_string());
        invalid("The body does not have the documented form.", vec![ValidationError { pointer, detail }])
    })
}

/// Rewrites a message of serde: without the value, which may be a card number, and without names of Rust's types.
pub(crate) fn describe(message: &str) -> String {
    // serde_json appends the line; the pointer names the place.
    let message = message.split_once(" at line ").map_or(message, |(message, _)| message);
    let shows_value = ["invalid type: ", "invalid value: ", "unknown variant "];
    let Some((_, expected)) = message
        .rsplit_once(", expected ")
        .filter(|_| shows_value.iter().any(|start| message.starts_with(start)))
    else {
        return message.to_owned();
    };
    let is_integer = expected.strip_prefix(['i', 'u']).is_some_and(|size| size.parse::<u8>().is_ok());
    match expected {
        _ if is_integer => "expected a whole number".to_owned(),
        "a sequence" => "expected a list".to_owned(),
        "a map" => "expected an object".to_owned(),
        _ if expected.starts_with("struct ") => "expected an object".to_owned(),
        _ => format!("expected {expected}"),
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => pointer.push_str(&index.to_string()),
            Segment::Map { key } => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => pointer.push_str(variant),
            Segment::Unknown => {}
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_searched_for_card_numbers_only_if_its_length_is_right() {
        let card = "4242 4242 4242 4242";
        for (text, stored, expected) in [
            (card.to_owned(), CardNumbers::Refused, vec!["a reference must not contain a card number"]),
            (card.to_owned(), CardNumbers::Stored, vec![]),
            (
                card.repeat(11),
                CardNumbers::Refused,
                vec!["a reference has 1 to 200 characters, no control characters"],
            ),
            (
                card.repeat(11),
                CardNumbers::Stored,
                vec!["a reference has 1 to 200 characters, no control characters"],
            ),
        ] {
            let mut errors = ValidationErrors::new(stored);
            errors.require_reference(&text, "/reference");
            let details: Vec<&str> = errors.errors.iter().map(|error| error.detail.as_str()).collect();
            assert_eq!(details, expected, "{text}, {stored:?}");
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only errors are read")]
    struct Body {
        number: i64,
        texts: Vec<String>,
        currency: contracts::Currency,
        inner: Option<Box<Body>>,
    }

    #[test]
    fn an_error_shows_neither_the_value_nor_a_type_of_rust() {
        let card = "4242424242424242";
        for (body, expected) in [
            (format!("{{\"number\":\"{card}\"}}"), "expected a whole number"),
            (format!("{{\"number\":{card}.5}}"), "expected a whole number"),
            (format!("{{\"number\":{card}{card}}}"), "expected a whole number"),
            (format!("{{\"texts\":\"{card}\"}}"), "expected a list"),
            (format!("{{\"texts\":[{card}]}}"), "expected a string"),
            (format!("{{\"inner\":\"{card}\"}}"), "expected an object"),
            (format!("{{\"currency\":\"{card}\"}}"), "expected one of `AUD`, `BRL`"),
            ("{}".to_owned(), "missing field `number`"),
        ] {
            let error = serde_json::from_str::<Body>(&body).unwrap_err();
            let detail = describe(&error.to_string());
            assert!(detail.starts_with(expected) && !detail.contains("4242"), "{error}: {detail}");
        }
    }
}
