//! Parses JSON to a typed request. Every validation error names its place in the request.

use std::fmt::Display;
use std::str::FromStr;

use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer};
use serde_json::Value;
use serde_path_to_error::Segment;
use utoipa::ToSchema;

use super::request_value::RequestValue;
use super::texts::CardNumbers;
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

/// The most errors that a response lists. Otherwise a response could be much larger than its request.
const MAX_LISTED: usize = 20;

/// Collects the errors of a request, so that a client can correct them together. The first 20 are listed, the others counted.
#[derive(Debug, Default)]
pub struct ValidationErrors {
    pub(super) listed: Vec<ValidationError>,
    count: usize,
    pub(super) in_references: CardNumbers,
}

impl ValidationErrors {
    /// No errors yet. `in_references` is the setting of this service.
    pub(crate) fn new(in_references: CardNumbers) -> Self {
        Self { in_references, ..Self::default() }
    }

    /// Adds an error unless `holds`.
    pub fn require(&mut self, holds: bool, pointer: impl Into<String>, detail: impl Into<String>) {
        if holds {
            return;
        }
        self.count += 1;
        if self.count <= MAX_LISTED {
            self.listed.push(ValidationError { pointer: pointer.into(), detail: detail.into() });
        }
    }

    /// Adds the error of parsing, unless this text is a `T`. The error must not repeat the text.
    pub fn require_parsed<T: FromStr<Err: Display>>(&mut self, text: &str, pointer: &str) {
        if let Err(error) = text.parse::<T>() {
            self.require(false, pointer, error.to_string());
        }
    }

    pub(crate) fn into_problem(self) -> Option<Problem> {
        let detail = match self.count {
            0 => return None,
            1..=MAX_LISTED => "The request is not valid; see errors.".to_owned(),
            count => {
                format!("The request is not valid. It has {count} errors, of which {MAX_LISTED} are listed.")
            }
        };
        Some(invalid(detail, self.listed))
    }
}

pub(crate) fn invalid(detail: impl Into<String>, errors: Vec<ValidationError>) -> Problem {
    Problem::new(&problem_types::REQUEST_INVALID, detail).with_errors(errors)
}

/// Parses a body in canonical form; an error names its place. In this form a whole number has no point and no exponent.
pub(crate) fn parse<W: DeserializeOwned>(canonical: &[u8]) -> Result<W, Problem> {
    let mut json = serde_json::Deserializer::from_slice(canonical);
    // The form is JSON. serde_json refuses only numbers that it cannot hold.
    let value: Value = tracked(&mut json).map_err(|(pointer, _)| {
        let detail = "the number is beyond the range of IEEE 754 doubles".to_owned();
        misfit(ValidationError { pointer, detail })
    })?;
    typed(value).map_err(misfit)
}

fn misfit(error: ValidationError) -> Problem {
    invalid("The body does not have the documented form.", vec![error])
}

/// Reads a value as this type; an error names its place in the value.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ValidationError> {
    tracked(RequestValue(value))
        .map_err(|(pointer, error)| ValidationError { pointer, detail: error.to_string() })
}

fn tracked<'de, T: DeserializeOwned, D: Deserializer<'de>>(json: D) -> Result<T, (String, D::Error)> {
    serde_path_to_error::deserialize(json).map_err(|error| (pointer(error.path()), error.into_inner()))
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
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use regex::Regex;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    /// All shapes that a command or a filter has or may have.
    #[derive(Debug, Default, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Body {
        number: i64,
        small: Option<u8>,
        fraction: f64,
        truth: bool,
        texts: Vec<String>,
        names: BTreeMap<String, u32>,
        pair: Option<(i64, String)>,
        #[serde(deserialize_with = "crate::not_null")]
        sku: Option<contracts::Sku>,
        money: Option<contracts::Money>,
        order: Option<contracts::OrderId>,
        uuid: Option<Uuid>,
        choice: Option<Choice>,
        inner: Option<Box<Body>>,
        needed: Option<Needed>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only errors are read")]
    struct Needed {
        needed: (),
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only errors are read")]
    enum Choice {
        Plain,
        With(i64),
        Members { one: i64 },
    }

    /// The sentences that a client may get.
    const SENTENCES: &str = r"(?x)^(
        expected\ (an\ object|a\ list|a\ string|true\ or\ false|a\ number|a\ whole\ number|a\ UUID|nothing
            |a\ whole\ number\ within\ the\ documented\ range
            |a\ value\ of\ the\ documented\ type|a\ documented\ value|the\ documented\ number\ of\ values
            |(one\ of\ )?`[a-zA-Z_]+`(,\ `[a-zA-Z_]+`)*)
        |unknown\ member,\ expected\ one\ of\ `[a-z_]+`(,\ `[a-z_]+`)*
        |missing\ member\ `[a-z]+`
        |a\ SKU\ is\ 1\ to\ 64\ characters\ of\ A-Z\ a-z\ 0-9\ \._-
    )$";

    fn any_value() -> impl Strategy<Value = Value> {
        let members = [
            "number",
            "small",
            "fraction",
            "truth",
            "texts",
            "names",
            "pair",
            "sku",
            "money",
            "order",
            "uuid",
            "choice",
            "inner",
            "needed",
            "amount",
            "currency",
            "one",
            "with",
            "plain",
            "other 4242424242424242",
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(vec!["", "4242424242424242", "plain", "EUR", "no sku", "0190a5c4"])
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            let member = (prop::sample::select(members.to_vec()), inner.clone());
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                prop::collection::vec(member, 0..4).prop_map(|members| {
                    Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn an_error_shows_neither_the_value_nor_a_word_of_the_program(value in any_value()) {
            if let Err(error) = typed::<Body>(value.clone()) {
                prop_assert!(Regex::new(SENTENCES).unwrap().is_match(&error.detail), "{}: {}", value, error.detail);
            }
        }
    }

    #[test]
    fn an_error_names_its_place_and_what_is_expected() {
        let sentences = Regex::new(SENTENCES).unwrap();
        for (value, pointer, detail) in [
            (json!([]), "", "expected an object"),
            (json!({"number": "4242424242424242"}), "/number", "expected a whole number"),
            (json!({"small": 256}), "/small", "expected a whole number within the documented range"),
            (json!({"texts": ["a", 5]}), "/texts/1", "expected a string"),
            (json!({"money": [1, "EUR"]}), "/money", "expected an object"),
            (json!({"inner": {"other": 1}}), "/inner/other", "unknown member, expected one of `number`"),
            (json!({"needed": {}}), "/needed", "missing member `needed`"),
            (json!({"order": "0190"}), "/order", "expected a UUID"),
            (json!({"sku": "no sku"}), "/sku", "a SKU is 1 to 64 characters"),
            (json!({"pair": [1]}), "/pair", "expected the documented number of values"),
            (json!({"choice": "other"}), "/choice", "expected one of `plain`, `with`, `members`"),
        ] {
            let error = typed::<Body>(value.clone()).unwrap_err();
            assert_eq!(error.pointer, pointer, "{value}: {error:?}");
            assert!(error.detail.starts_with(detail), "{value}: {error:?}");
            assert!(sentences.is_match(&error.detail), "{value}: {error:?}");
        }
    }

    #[test]
    fn a_long_list_of_errors_is_cut_and_counted() {
        let mut errors = ValidationErrors::default();
        (0..1000).for_each(|i| errors.require(false, format!("/{i}"), "wrong"));
        let body: Value = serde_json::from_slice(&errors.into_problem().unwrap().body(None)).unwrap();
        assert_eq!(body["errors"].as_array().unwrap().len(), 20);
        assert!(body["detail"].as_str().unwrap().contains("1000 errors, of which 20"), "{body}");
    }
}
