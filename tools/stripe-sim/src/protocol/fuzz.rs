//! The fuzz target `form`: a body or a query string. This test replays its corpus, and `./dev fuzz form` searches for new
//! inputs.

use std::borrow::Cow;

use percent_encoding::percent_decode;

use super::Form;

type Pairs = Vec<(String, String)>;

#[test]
fn a_form_is_read_exactly_if_it_is_text_without_card_data_and_nul() {
    bolero::check!(name = "form").with_iterations(0).for_each(|encoded| {
        let expected = pairs(encoded).filter(|pairs| pairs.iter().all(is_allowed));
        match (Form::parse(encoded), expected) {
            (Ok(form), Some(mut expected)) => {
                expected.sort_by(|(one, _), (other, _)| one.cmp(other));
                assert_eq!(owned(&form), expected);
                let encoded = serde_urlencoded::to_string(&expected).unwrap();
                assert_eq!(owned(&Form::parse(encoded.as_bytes()).unwrap()), expected, "{encoded}");
                limits_hold(&form);
                every_parameter_is_read_once(&form);
            }
            (Err(_), None) => {}
            (form, expected) => panic!("{form:?}, and not {expected:?}"),
        }
    });
}

/// The pairs by the WHATWG's rules; `None` if they are not UTF-8.
fn pairs(encoded: &[u8]) -> Option<Pairs> {
    let parts = encoded.split(|&byte| byte == b'&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let mut halves = part.splitn(2, |&byte| byte == b'=');
            Some((decoded(halves.next())?, decoded(halves.next())?))
        })
        .collect()
}

fn decoded(encoded: Option<&[u8]>) -> Option<String> {
    let spaces: Vec<u8> =
        encoded.unwrap_or_default().iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent_decode(&spaces).decode_utf8().ok().map(Cow::into_owned)
}

fn is_allowed((name, value): &(String, String)) -> bool {
    !name.starts_with("card[") && !name.contains("[card][") && !format!("{name}{value}").contains('\0')
}

fn owned(form: &Form) -> Pairs {
    form.sorted().into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn limits_hold(form: &Form) {
    let count = |wanted: &str| form.sorted().iter().filter(|(name, _)| *name == wanted).count();
    if let Ok(Some(amount)) = form.clone().amount("amount") {
        assert!((1..=99_999_999).contains(&amount) && count("amount") == 1, "{amount}");
    }
    if let Ok(Some(text)) = form.clone().text("currency") {
        assert!(!text.is_empty() && count("currency") == 1);
    }
    if let Ok(metadata) = form.clone().metadata() {
        assert!(metadata.len() <= 50);
        for (key, value) in metadata {
            let (key, value) = (key.chars().count(), value.chars().count());
            assert!((1..=40).contains(&key) && (1..=500).contains(&value), "{key} and {value} characters");
        }
    }
}

fn every_parameter_is_read_once(form: &Form) {
    let (mut rest, before) = (form.clone(), form.sorted().len());
    let elements = rest.list("expand").len();
    assert_eq!(rest.sorted().len() + elements, before);
    let _ = (rest.metadata(), rest.text("amount"));
    let unread: Vec<_> = form.sorted().into_iter().filter(|(name, _)| !is_read(name)).collect();
    assert_eq!(rest.sorted(), unread);
    assert_eq!(rest.finish().is_ok(), unread.is_empty());
}

fn is_read(name: &str) -> bool {
    let is_member = |list: &str| name.starts_with(list) && name.ends_with(']');
    let index = name.strip_prefix("expand[").and_then(|rest| rest.strip_suffix(']'));
    name == "amount"
        || is_member("metadata[")
        || index.is_some_and(|index| index.bytes().all(|b| b.is_ascii_digit()))
}
