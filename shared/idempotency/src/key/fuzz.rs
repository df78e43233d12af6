//! The fuzz target `key`: the bytes of an `Idempotency-Key` header. This test replays its corpus, and `./dev fuzz key`
//! searches for new inputs.

use regex::bytes::Regex;
use sfv::{BareItem, Item, Parser};

use super::{Key, KeyError, KeyPolicy};

/// The documented forms: a bare token, or a string in quotes with parameters.
const GRAMMAR: &str = r#"(?x-u)
    ^ [\ \t]*
    (?: (?<bare> [0-9A-Za-z] [0-9A-Za-z._~:+/=-]* )
      | " (?<quoted> (?: [!\#-\[\]-~] | \\["\\] )* ) "
        (?: ; \ * [a-z*] [a-z0-9_.*-]*
            (?: = (?: " (?: [\ !\#-\[\]-~] | \\["\\] )* "
                    | %" [\ !\#-~]* "
                    | [!\#-+\--:<-~]+ ) )? )* )
    [\ \t]* $"#;
const UUID: &str = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$";
/// The nil and the max UUID are no keys.
const PLACEHOLDER: &str = "^(0{8}(-0{4}){3}-0{12}|[Ff]{8}(-[Ff]{4}){3}-[Ff]{12}|0{32}|[Ff]{32})$";

#[test]
fn a_header_is_a_key_exactly_if_it_has_the_documented_form() {
    let (grammar, uuid) = (Regex::new(GRAMMAR).unwrap(), Regex::new(UUID).unwrap());
    let placeholder = Regex::new(PLACEHOLDER).unwrap();
    bolero::check!(name = "key").with_iterations(0).for_each(|header| {
        let (any, strict) = (Key::parse(header, KeyPolicy::Any), Key::parse(header, KeyPolicy::Uuid));

        let text = text_by(&grammar, header).filter(|text| !placeholder.is_match(text));
        let allowed = text.as_deref().filter(|text| (16..=255).contains(&text.len()));
        assert_eq!(any.as_ref().ok().map(|key| key.as_str().as_bytes()), allowed);
        let lower = text.as_deref().filter(|text| uuid.is_match(text)).map(<[u8]>::to_ascii_lowercase);
        assert_eq!(strict.as_ref().ok().map(|key| key.as_str().as_bytes()), lower.as_deref());

        // Each string of RFC 9651 that may be a key is the same key here.
        if let Some(string) = string_by_rfc_9651(header)
            && (16..=255).contains(&string.len())
            && string.bytes().all(|byte| byte.is_ascii_graphic())
            && !placeholder.is_match(string.as_bytes())
        {
            assert_eq!(any.as_ref().map(Key::as_str), Ok(string.as_str()));
        }
        for (key, policy) in [(&any, KeyPolicy::Any), (&strict, KeyPolicy::Uuid)] {
            match key {
                Ok(key) => stays_the_same(key, policy),
                Err(error) => names_a_wrong_byte(*error, header),
            }
        }
    });
}

fn text_by(grammar: &Regex, header: &[u8]) -> Option<Vec<u8>> {
    let parts = grammar.captures(header)?;
    match (parts.name("bare"), parts.name("quoted")) {
        (Some(bare), _) => Some(bare.as_bytes().to_vec()),
        (_, Some(quoted)) => Some(unescaped(quoted.as_bytes())),
        _ => None,
    }
}

fn unescaped(quoted: &[u8]) -> Vec<u8> {
    let mut bytes = quoted.iter().copied();
    std::iter::from_fn(|| bytes.next().and_then(|byte| if byte == b'\\' { bytes.next() } else { Some(byte) }))
        .collect()
}

/// The reading of an independent implementation.
fn string_by_rfc_9651(header: &[u8]) -> Option<String> {
    match Parser::new(header).parse::<Item>().ok()?.bare_item {
        BareItem::String(string) => Some(string.into()),
        _ => None,
    }
}

fn stays_the_same(key: &Key, policy: KeyPolicy) {
    let quoted = format!("\"{}\"", key.as_str().replace('\\', "\\\\").replace('"', "\\\""));
    assert_eq!(
        string_by_rfc_9651(quoted.as_bytes()).as_deref(),
        Some(key.as_str()),
        "in quotes, by RFC 9651"
    );
    for spelling in [quoted.clone(), format!("\t{quoted} "), format!("{quoted};a;b=\";\"")] {
        assert_eq!(Key::parse(spelling.as_bytes(), policy).as_ref(), Ok(key), "{spelling}");
    }
}

/// A position counts from the first byte that is not blank.
fn names_a_wrong_byte(error: KeyError, header: &[u8]) {
    let start = header.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    if let KeyError::WrongCharacter { position } = error {
        assert!(!header[start..][position - 1].is_ascii_graphic(), "byte {position} is allowed");
    }
}
