//! Properties of the canonical form, checked with generated documents.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Number, Value};

use super::{JsonErrorKind, canonicalise};

fn canonical(document: &str) -> Result<String, TestCaseError> {
    let bytes = canonicalise(document.as_bytes())
        .map_err(|error| TestCaseError::fail(format!("{error}: {document}")))?;
    String::from_utf8(bytes).map_err(|error| TestCaseError::fail(error.to_string()))
}

fn values(numbers: BoxedStrategy<Number>) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        numbers.prop_map(Value::Number),
        texts().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::Array),
            btree_map(texts(), inner, 0..8).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Short, so that names share beginnings; U+0000 is left out because it is refused.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]{0,2}", "[\u{1}-\u{ff}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}/\"\\\\~]{0,4}"]
}

fn integers() -> BoxedStrategy<Number> {
    prop_oneof![any::<i64>().prop_map(Number::from), any::<u64>().prop_map(Number::from)].boxed()
}

fn numbers() -> BoxedStrategy<Number> {
    prop_oneof![
        integers(),
        any::<f64>().prop_filter_map("JSON has no infinity", Number::from_f64),
        (-1000_i32..1000).prop_map(|tenths| Number::from_f64(f64::from(tenths) / 10.0).unwrap()),
    ]
    .boxed()
}

/// Writes a value as some other library might: each choice is taken from a list that proptest made.
struct Speller {
    choices: Vec<u8>,
    taken: usize,
    out: String,
}

impl Speller {
    fn spell(value: &Value, choices: Vec<u8>) -> String {
        let mut speller = Self { choices, taken: 0, out: String::new() };
        speller.blank();
        speller.value(value);
        speller.blank();
        speller.out
    }

    fn choose(&mut self, among: usize) -> usize {
        self.taken += 1;
        usize::from(self.choices[self.taken % self.choices.len()]).wrapping_add(self.taken / 7) % among
    }

    fn blank(&mut self) {
        let blank = ["", "", " ", "\n", "\t\r\n", "  "][self.choose(6)];
        self.out.push_str(blank);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(truth) => self.out.push_str(if *truth { "true" } else { "false" }),
            Value::Number(number) => self.number(&number.to_string()),
            Value::String(text) => self.string(text),
            Value::Array(elements) => {
                self.list(elements.iter().collect(), ['[', ']'], Self::value);
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                for at in (1..members.len()).rev() {
                    let other = self.choose(at + 1);
                    members.swap(at, other);
                }
                self.list(members, ['{', '}'], |speller, (name, value)| {
                    speller.string(name);
                    speller.blank();
                    speller.out.push(':');
                    speller.blank();
                    speller.value(value);
                });
            }
        }
    }

    fn list<T>(&mut self, items: Vec<T>, [open, close]: [char; 2], mut item: impl FnMut(&mut Self, T)) {
        self.out.push(open);
        self.blank();
        for (at, each) in items.into_iter().enumerate() {
            if at > 0 {
                self.out.push(',');
                self.blank();
            }
            item(self, each);
            self.blank();
        }
        self.out.push(close);
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            let must_escape = character < ' ' || matches!(character, '"' | '\\');
            match (self.choose(3), character) {
                (0, '/') => self.out.push_str("\\/"),
                (0, '\n') => self.out.push_str("\\n"),
                (0, '"' | '\\') => self.out.extend(['\\', character]),
                (choice, _) if must_escape || choice == 1 => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let hex = format!("\\u{unit:04x}");
                        let upper = self.choose(2) == 0;
                        self.out += &if upper { hex.to_uppercase().replace('U', "u") } else { hex };
                    }
                }
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }

    fn number(&mut self, text: &str) {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().unwrap();
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction_length = i32::try_from(fraction.len()).unwrap();
        let spelled = match self.choose(5) {
            0 => text.to_owned(),
            1 => format!("{integer}.{fraction}00e{exponent}"),
            2 => format!("{integer}.{fraction}0E{exponent:+04}"),
            3 if integer.trim_start_matches('-') != "0" => {
                format!("{integer}{fraction}000e{}", exponent - fraction_length - 3)
            }
            _ => {
                let (sign, digits) = integer.strip_prefix('-').map_or(("", integer), |digits| ("-", digits));
                let shift = i32::try_from(digits.len()).unwrap();
                format!("{sign}0.{digits}{fraction}e{}", exponent + shift)
            }
        };
        self.out.push_str(&spelled);
    }
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..64)
}

/// Text that is JSON, nearly JSON, or far from it.
fn documents() -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((any::<prop::sample::Index>(), 0_u8..3, bytes_of_json()), 0..3);
    let edited = (values(numbers()), choices(), edits).prop_map(|(value, choices, edits)| {
        let mut document = Speller::spell(&value, choices).into_bytes();
        for (at, kind, byte) in edits {
            let at = at.index(document.len());
            match kind {
                0 => document.insert(at, byte),
                1 => document[at] = byte,
                _ if document.len() > 1 => drop(document.remove(at)),
                _ => {}
            }
        }
        document
    });
    let token = prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"a\":", "0", "-0", "-1", "1e400", "1e5", ".5", "E",
        "null", "true", " ", "\\", "\\u", "\\ud83d", "\\ude00", "\\u0000", "\u{feff}",
    ]);
    prop_oneof![edited, vec(token, 0..12).prop_map(|tokens| tokens.concat().into_bytes())]
}

fn bytes_of_json() -> impl Strategy<Value = u8> {
    prop_oneof![
        prop::sample::select(b"{}[],:\"\\ntrufalse0123456789+-.eE \n\x00\x1f\xff\xc3\xa9".to_vec()),
        any::<u8>()
    ]
}

/// Documents that JSON allows and the canonical form refuses, as the module's documentation says.
pub(super) fn is_extra_strictness(kind: &JsonErrorKind) -> bool {
    matches!(
        kind,
        JsonErrorKind::DuplicateMember
            | JsonErrorKind::NullCharacter
            | JsonErrorKind::TooDeep { .. }
            | JsonErrorKind::TooManyDigits
            | JsonErrorKind::ExponentOutOfRange
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_spelling_of_a_value_has_one_form(value in values(numbers()), choices in choices()) {
        let spelled = Speller::spell(&value, choices);
        prop_assert_eq!(canonical(&spelled)?, canonical(&value.to_string())?, "{}", spelled);
    }

    #[test]
    fn the_form_of_a_form_is_itself(value in values(numbers()), choices in choices()) {
        let once = canonical(&Speller::spell(&value, choices))?;
        prop_assert_eq!(canonical(&once)?, once);
    }

    #[test]
    fn the_form_reads_back_as_the_value(value in values(integers()), choices in choices()) {
        let form = canonical(&Speller::spell(&value, choices))?;
        prop_assert_eq!(serde_json::from_str::<Value>(&form).unwrap(), value);
    }

    #[test]
    fn different_values_have_different_forms(one in values(integers()), other in values(integers())) {
        prop_assert_eq!(canonical(&one.to_string())? == canonical(&other.to_string())?, one == other);
    }

    /// serde_json is the independent judge of what JSON is. It alone refuses numbers that no f64 holds.
    #[test]
    fn json_is_accepted_and_nothing_else(document in documents()) {
        let judged = serde_json::from_slice::<Value>(&document);
        let shown = String::from_utf8_lossy(&document).into_owned();
        match canonicalise(&document) {
            Ok(_) => {
                let accepted = judged.as_ref().map_or_else(|error| error.to_string().contains("out of range"), |_| true);
                prop_assert!(accepted, "accepted although {:?}: {}", judged, shown);
            }
            Err(error) if is_extra_strictness(&error.what) => {}
            Err(error) => prop_assert!(judged.is_err(), "refused: {}: {}", error, shown),
        }
    }

    #[test]
    fn an_error_position_is_inside_the_document(document in documents()) {
        if let Err(error) = canonicalise(&document) {
            let lines = document.split(|byte| *byte == b'\n').count();
            prop_assert!((1..=lines).contains(&error.line) && (1..=document.len() + 1).contains(&error.column));
            prop_assert!(error.pointer.is_empty() || error.pointer.starts_with('/'));
        }
    }

    /// Exactness, judged by integer arithmetic: digits × 10^exponent against the same number written differently.
    #[test]
    fn numbers_are_equal_exactly_when_their_values_are(
        one in 0_u128..1_000_000, one_zeros in 0_u32..12, other in 0_u128..1_000_000, other_zeros in 0_u32..12,
        shift in -300_i32..300,
    ) {
        let spelled = |digits: u128, zeros: u32| format!("{digits}e{}", i64::from(zeros) + i64::from(shift));
        let equal = one * 10_u128.pow(one_zeros) == other * 10_u128.pow(other_zeros);
        prop_assert_eq!(canonical(&spelled(one, one_zeros))? == canonical(&spelled(other, other_zeros))?, equal);
        let same_number = format!("{}e{}", one * 10_u128.pow(one_zeros), shift);
        prop_assert_eq!(canonical(&spelled(one, one_zeros))?, canonical(&same_number)?);
    }

    #[test]
    fn neighbouring_long_numbers_stay_apart(digits in "[1-9][0-9]{15,62}", last in 0_u8..9) {
        prop_assert_ne!(canonical(&format!("{digits}{last}"))?, canonical(&format!("{digits}{}", last + 1))?);
    }
}
