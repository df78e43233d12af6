use proptest::prelude::*;

use super::{Key, KeyError, KeyPolicy};

const UUID: &str = "8e03978e-40d5-43e8-bc93-6894a57f9324";

fn strict(header: &str) -> Result<Key, KeyError> {
    Key::parse(header.as_bytes(), KeyPolicy::Uuid)
}

fn lenient(header: impl AsRef<[u8]>) -> Result<Key, KeyError> {
    Key::parse(header.as_ref(), KeyPolicy::Any)
}

#[test]
fn quoted_and_bare_are_the_same_key() {
    let bare = strict(UUID).unwrap();
    assert_eq!(bare.as_str(), UUID);
    for header in [
        format!("\"{UUID}\""),
        format!("\t \"{UUID}\" "),
        format!("  {UUID}\t"),
        format!("\"{UUID}\";foo=1"),
        format!("\"{UUID}\";a; b=?1;c=\"x;\\\"y,\";d=:YWJj:;e=tok/en;*f=-1.5;g=@1;h=%\"%c3, \""),
    ] {
        assert_eq!(strict(&header).as_ref(), Ok(&bare), "{header}");
        assert_eq!(lenient(&header).as_ref(), Ok(&bare), "{header}");
    }
}

#[test]
fn a_uuid_in_upper_case_is_the_same_key() {
    assert_eq!(strict(&UUID.to_uppercase()), strict(UUID));
}

#[test]
fn any_other_key_is_compared_byte_for_byte() {
    assert_ne!(lenient(UUID.to_uppercase()), lenient(UUID));
}

#[test]
fn uuids_of_every_version_pass() {
    for version in 1..=8 {
        let text = format!("0190a5c4-7e3b-{version}abc-8def-0123456789ab");
        assert_eq!(strict(&text).unwrap().as_str(), text);
    }
}

#[test]
fn other_spellings_of_a_uuid_are_refused() {
    for header in [
        "8e03978e40d543e8bc936894a57f9324",
        "urn:uuid:8e03978e-40d5-43e8-bc93-6894a57f9324",
        "\"{8e03978e-40d5-43e8-bc93-6894a57f9324}\"",
        "8e03978e-40d5-43e8-bc93-6894a57f932",
        "8e03978e-40d5-43e8-bc93-6894a57f932g",
        "8e03978e4-0d5-43e8-bc93-6894a57f9324",
        "order-2041-attempt-1",
    ] {
        assert_eq!(strict(header), Err(KeyError::NotUuid), "{header}");
    }
}

#[test]
fn a_nil_or_max_uuid_is_refused_in_every_spelling() {
    for digit in ["0", "f", "F"] {
        let [eight, four, twelve] = [8, 4, 12].map(|length| digit.repeat(length));
        let uuid = format!("{eight}-{four}-{four}-{four}-{twelve}");
        for header in [&uuid, &quote(&uuid), &digit.repeat(32)] {
            assert_eq!(strict(header), Err(KeyError::Placeholder), "{header}");
            assert_eq!(lenient(header), Err(KeyError::Placeholder), "{header}");
        }
    }
    let one = "00000000-0000-0000-0000-000000000001";
    assert_eq!(strict(one).unwrap().as_str(), one);
    assert!(lenient("0000000000000000").is_ok(), "not a UUID");
}

#[test]
fn an_empty_value_is_refused() {
    for header in ["", " \t ", "\"\"", "\"\";a=1"] {
        assert_eq!(strict(header), Err(KeyError::Empty), "{header:?}");
        assert_eq!(lenient(header), Err(KeyError::Empty), "{header:?}");
    }
}

#[test]
fn a_list_is_refused() {
    for header in [
        format!("{UUID}, {UUID}"),
        format!("{UUID},"),
        format!("\"{UUID}\", \"{UUID}\""),
        format!("\"{UUID}\" ,\"{UUID}\""),
        format!("\"{UUID}\";a=1, \"{UUID}\""),
        format!("(\"{UUID}\")"),
    ] {
        assert_eq!(strict(&header), Err(KeyError::List), "{header}");
    }
}

#[test]
fn a_comma_in_quotes_makes_no_list() {
    assert_eq!(lenient("\"key,with,commas,in,it\"").unwrap().as_str(), "key,with,commas,in,it");
}

#[test]
fn other_structured_types_are_refused_by_name() {
    for (header, found) in [
        (":YWJj:", "a byte sequence"),
        ("?1", "a boolean"),
        ("@1659578233", "a date"),
        ("%\"key\"", "a display string"),
        ("-42", "a number"),
    ] {
        assert_eq!(strict(header), Err(KeyError::OtherType { found }), "{header}");
    }
}

#[test]
fn bytes_outside_visible_ascii_are_refused_with_their_place() {
    for (header, position) in [
        (&b"0123456789abcde\xE9f"[..], 16),
        (b"01234567 9abcdef0", 9),
        (b"0123\x000123456789ab", 5),
        (b"\"01234567 9abcdef0\"", 10),
        (b"\"0123456789abcde\xC3\xA9\"", 17),
        (b"\"0123456789abcdef\n\"", 18),
        (b"\x7F0123456789abcdef", 1),
    ] {
        assert_eq!(lenient(header), Err(KeyError::WrongCharacter { position }), "{header:?}");
    }
}

#[test]
fn characters_that_need_quotes_are_refused_without_them() {
    for (header, position) in [
        ("0123456789abcdef;a=1", 17),
        ("0123456789\"abcdef", 11),
        ("-abcdefghijklmnop", 1),
        ("{0123456789abcdef}", 1),
    ] {
        assert_eq!(lenient(header), Err(KeyError::NeedsQuotes { position }), "{header}");
    }
    assert_eq!(lenient("\"{0123456789abcdef}\"").unwrap().as_str(), "{0123456789abcdef}");
}

#[test]
fn the_length_counts_after_unquoting() {
    assert_eq!(lenient("a".repeat(15)), Err(KeyError::TooShort { length: 15 }));
    assert_eq!(lenient("a".repeat(16)).unwrap().as_str().len(), 16);
    assert_eq!(lenient("a".repeat(255)).unwrap().as_str().len(), 255);
    assert_eq!(lenient("a".repeat(256)), Err(KeyError::TooLong { length: 256 }));
    assert_eq!(lenient(format!("\"{}\"", "\\\\".repeat(15))), Err(KeyError::TooShort { length: 15 }));
    assert_eq!(lenient(format!("\"{}\"", "\\\"".repeat(255))).unwrap().as_str(), "\"".repeat(255));
}

#[test]
fn a_broken_string_is_refused_with_the_reason() {
    for (header, error) in [
        ("\"0123456789abcdef", KeyError::Unterminated),
        ("\"0123456789abcdef\\", KeyError::Unterminated),
        ("\"0123456789abcdef\\\"", KeyError::Unterminated),
        ("\"01234567\\n89abcdef\"", KeyError::WrongEscape { position: 10 }),
        ("\"0123456789abcdef\"x", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\" ;a", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\";", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\";A=1", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\";a=", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\";a;b=\"x", KeyError::WrongParameter { position: 21 }),
        ("\"0123456789abcdef\";a=\"\\n\"", KeyError::WrongParameter { position: 19 }),
        ("\"0123456789abcdef\";a=%\"x", KeyError::WrongParameter { position: 19 }),
    ] {
        assert_eq!(lenient(header), Err(error), "{header}");
    }
}

#[test]
fn neither_debug_nor_an_error_shows_the_key() {
    let key = strict(UUID).unwrap();
    assert_eq!(format!("{key:?}"), format!("Key(#{})", key.short_hash()));
    let error = lenient("hidden value of a key").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hidden"));
}

#[test]
fn the_short_hash_is_the_start_of_sha_256() {
    // printf %s 8e03978e-40d5-43e8-bc93-6894a57f9324 | sha256sum
    assert_eq!(strict(UUID).unwrap().short_hash(), "238c5b6d");
}

#[test]
fn the_default_policy_wants_a_uuid() {
    assert_eq!(KeyPolicy::default(), KeyPolicy::Uuid);
}

/// As a client library would quote it.
fn quote(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #[test]
    fn every_allowed_key_survives_quoting(key in "[!-~]{16,255}") {
        let read = lenient(quote(&key));
        prop_assert_eq!(read.as_ref().map(Key::as_str), Ok(key.as_str()));
    }

    #[test]
    fn every_bare_key_is_the_same_key_in_quotes(key in "[A-Za-z0-9][A-Za-z0-9._~:+/=-]{15,254}") {
        let bare = lenient(&key);
        prop_assert_eq!(bare.as_ref().map(Key::as_str), Ok(key.as_str()));
        prop_assert_eq!(lenient(quote(&key)), bare);
    }

    #[test]
    fn no_header_makes_a_key_that_breaks_the_rules(
        header in proptest::collection::vec(
            prop_oneof![
                3 => proptest::sample::select(b"\"\"\\;,= \t*%:?@aZ09-.".to_vec()).prop_map(|byte| vec![byte]),
                1 => any::<u8>().prop_map(|byte| vec![byte]),
                1 => Just(b"\"0123456789abcdef\"".to_vec()),
                1 => Just(b"0123456789abcdef".to_vec()),
            ],
            0..8,
        ),
    ) {
        if let Ok(key) = lenient(header.concat()) {
            prop_assert!((Key::MIN_LENGTH..=Key::MAX_LENGTH).contains(&key.as_str().len()));
            prop_assert!(key.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
