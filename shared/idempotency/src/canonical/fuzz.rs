//! The fuzz target `canonical`: the bytes of a request body. This test replays its corpus, and `./dev fuzz canonical`
//! searches for new inputs.

use serde_json::{Number, Value};

use super::properties::is_extra_strictness;
use super::reader::read_document;
use super::{JsonErrorKind, canonicalise};

#[test]
fn a_document_and_its_form_are_the_same_value_for_another_parser() {
    bolero::check!(name = "canonical").with_iterations(0).for_each(|document| {
        let judged = serde_json::from_slice::<Value>(document);
        match canonicalise(document) {
            Ok(form) => {
                assert_eq!(canonicalise(&form).as_ref(), Ok(&form), "the form of the form");
                assert!(form.len() * 4 <= document.len() * 21, "`1e20` grows most: 4 bytes become 21");
                only_depth_is_limited(document, &form);
                match judged {
                    Ok(value) => assert!(is_same(&value, &serde_json::from_slice(&form).unwrap())),
                    // serde_json alone refuses numbers that no double holds.
                    Err(error) => assert!(error.to_string().contains("out of range"), "{error}"),
                }
            }
            Err(error) => {
                assert!(is_extra_strictness(&error.what) || judged.is_err(), "{error}");
                assert!(error.line <= document.len() + 1 && error.column <= document.len() + 1);
            }
        }
    });
}

fn only_depth_is_limited(document: &[u8], form: &Vec<u8>) {
    for max_depth in 0..3 {
        match read_document(document, max_depth) {
            Ok(flat) => assert_eq!(&flat, form),
            Err(error) => assert_eq!(error.what, JsonErrorKind::TooDeep { limit: max_depth }),
        }
    }
}

/// Equality, but for the last bits of doubles: `serde_json` rounds two spellings of one number differently.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| is_same(one, other)))
        }
        _ => one == other,
    }
}

fn is_same_number(one: &Number, other: &Number) -> bool {
    let (Some(double), Some(other_double)) = (one.as_f64(), other.as_f64()) else { return false };
    let difference = (double - other_double).abs();
    match (one.is_f64(), other.is_f64()) {
        (false, false) => one == other,
        _ => difference <= double.abs() * 1e-14 || difference < f64::MIN_POSITIVE,
    }
}
