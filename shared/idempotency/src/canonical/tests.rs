use super::reader::read_document;
use super::{JsonError, JsonErrorKind as Kind, canonicalise};

fn canonical(document: impl AsRef<[u8]>) -> String {
    String::from_utf8(canonicalise(document.as_ref()).unwrap()).unwrap()
}

fn error(document: impl AsRef<[u8]>) -> JsonError {
    canonicalise(document.as_ref()).unwrap_err()
}

#[track_caller]
fn refused(document: impl AsRef<[u8]>, what: Kind, column: usize, pointer: &str) {
    let error = error(&document);
    let shown = String::from_utf8_lossy(document.as_ref()).into_owned();
    assert_eq!((error.what, error.column, error.pointer.as_str()), (what, column, pointer), "{shown}");
}

#[track_caller]
fn no_json(document: impl AsRef<[u8]>, what: &str, column: usize, pointer: &str) {
    refused(document, Kind::Syntax(what.to_owned()), column, pointer);
}

#[test]
fn members_are_sorted_by_utf_16_code_units() {
    // The example of RFC 8785, section 3.2.3.
    let document = "{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With \
                    Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\
                    \"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}";
    assert_eq!(
        canonical(document),
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With \
         Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With \
         Dagesh\"}"
    );
}

#[test]
fn members_are_sorted_at_every_level_and_elements_nowhere() {
    assert_eq!(
        canonical(
            "\n{ \"b\" : [ {\"z\":1,\"y\":[]} , {} , 2 , 1 ] ,\t\"a\":{\"d\":null,\"c\":true},\"\":false }\r\n"
        ),
        r#"{"":false,"a":{"c":true,"d":null},"b":[{"y":[],"z":1},{},2,1]}"#
    );
}

#[test]
fn strings_are_escaped_no_more_than_json_demands() {
    // The string of RFC 8785, section 3.2.2.
    assert_eq!(
        canonical(r#""\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/""#),
        r#""€$\u000f\nA'B\"\\\\\"/""#
    );
    assert_eq!(
        canonical(r#""\u0008\u0009\u000c\u000d\u001b\u007f\u2028""#),
        "\"\\b\\t\\f\\r\\u001b\u{7f}\u{2028}\""
    );
}

#[test]
fn texts_are_not_normalised() {
    assert_ne!(canonical("\"\u{e9}\""), canonical("\"e\u{301}\""));
}

#[test]
fn null_differs_from_absent() {
    assert_ne!(canonical(r#"{"a":null}"#), canonical("{}"));
}

#[test]
fn spellings_of_one_number_are_equal() {
    for (canonical_form, spellings) in [
        ("1", &["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000E+00", "0.00001e+5"][..]),
        ("-1.5", &["-1.5", "-15e-1", "-0.15E1", "-1.50"]),
        ("0", &["0", "-0", "0.0", "-0.00", "0e5", "0E-999999999", "-0e999999999999999999999"]),
        ("100000000000000000000", &["1e20", "100000000000000000000", "0.1e21"]),
        ("1e+21", &["1e21", "1000000000000000000000", "1E+21"]),
        ("123.456", &["123.456", "123456e-3", "1.23456e2"]),
        ("0.000001", &["1e-6", "0.000001", "0.0000010"]),
        ("1e-7", &["1e-7", "0.0000001", "10e-8"]),
        ("-1.25e-10", &["-1.25e-10", "-0.000000000125"]),
        ("1e+400", &["1e400", "0.1e401", "1000e397"]),
        ("1e-400", &["1e-400", "0.001e-397"]),
        ("9007199254740993", &["9007199254740993", "9007199254740.993e3"]),
    ] {
        for spelling in spellings {
            assert_eq!(canonical(spelling), canonical_form, "{spelling}");
        }
    }
}

/// RFC 8785 rounds a number to a double before it writes it. A number that is a double's shortest spelling stays as it is.
#[test]
fn doubles_are_written_as_rfc_8785_writes_them() {
    // Appendix B without its last line, a tie that Rust's formatter breaks in the other way. The bits are those of the double.
    for (bits, written) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    ] {
        let shortest = format!("{:e}", f64::from_bits(bits));
        assert_eq!(canonical(&shortest), written, "{shortest}");
        assert_eq!(canonical(written), written);
    }
    // The numbers of section 3.2.2, but for the first, which no double holds.
    assert_eq!(
        canonical("[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]"),
        "[333333333.33333329,1e+30,4.5,0.002,1e-27]"
    );
}

#[test]
fn numbers_that_only_a_double_would_confuse_stay_apart() {
    for (one, other) in [
        ("9007199254740993", "9007199254740992"),
        ("0.1", "0.10000000000000001"),
        ("1e400", "1e399"),
        ("18446744073709551616", "18446744073709551615"),
        ("1", "-1"),
        ("1", "1.0000000000000000000000000000000000000000000000000000000000001"),
        ("5e-324", "0"),
    ] {
        assert_ne!(canonical(one), canonical(other));
    }
}

#[test]
fn at_most_sixty_four_significant_digits_are_accepted() {
    let most = format!("1{}7", "0".repeat(62));
    assert_eq!(canonical(format!("0.{most}")), format!("0.{most}"));
    assert_eq!(canonical(format!("{most}000e-3")), canonical(&most));
    refused(format!("[1,1{}7]", "0".repeat(63)), Kind::TooManyDigits, 4, "/1");
    refused(format!("-0.{}", "1".repeat(65)), Kind::TooManyDigits, 1, "");
}

#[test]
fn exponents_beyond_400_are_refused_and_never_expanded() {
    assert_eq!(canonical("123e398"), "1.23e+400");
    for number in
        ["1e401", "10e400", "-1e401", "1e-401", "0.1e-400", "1e999999999", "1e-99999999999999999999999"]
    {
        refused(number, Kind::ExponentOutOfRange, 1, "");
    }
    refused(format!("1{}", "0".repeat(401)), Kind::ExponentOutOfRange, 1, "");
}

#[test]
fn a_long_spelling_of_a_small_number_is_that_number() {
    let zeros = "0".repeat(100_000);
    assert_eq!(canonical(format!("1{zeros}e-100000")), "1");
    assert_eq!(canonical(format!("0.{zeros}1e100001")), "1");
    assert_eq!(canonical(format!("1.{zeros}")), "1");
}

#[test]
fn an_invalid_number_is_refused() {
    no_json("[01]", "invalid number", 3, "/0");
    no_json("-00.5", "invalid number", 3, "");
    no_json("-", "invalid number", 1, "");
    no_json("[-a]", "invalid number", 3, "/0");
    no_json("[1.]", "invalid number", 4, "/0");
    no_json("1e+", "invalid number", 3, "");
    for document in ["+1", ".5", "NaN", "Infinity", "'a'", "True"] {
        no_json(document, "expected value", 1, "");
    }
    for document in ["0x10", "1 2", "1_000", "1e5.5"] {
        assert_eq!(error(document).what, Kind::Syntax("trailing characters".to_owned()), "{document}");
    }
}

#[test]
fn duplicate_members_are_refused_after_unescaping() {
    refused(r#"{"a":1,"b":2,"a":1}"#, Kind::DuplicateMember, 14, "/a");
    refused(r#"[{"x":{"aé":1,"\u0061\u00e9":1}}]"#, Kind::DuplicateMember, 15, "/0/x/aé");
    assert_eq!(canonical(r#"{"a":{"a":1},"A":{"a":1}}"#), r#"{"A":{"a":1},"a":{"a":1}}"#);
}

#[test]
fn lone_surrogates_and_null_characters_are_refused() {
    for half in
        [r"\ud83d", r"\ude00", r"\ude00\ud83d", r"\ud83dx", r"\ud83d\n", r"\ud83d\u0041", r"\ud83d\ud83d"]
    {
        refused(format!(r#"{{"a":"x{half}"}}"#), Kind::LoneSurrogate, 6, "/a");
    }
    refused(r#"{"a":"x\u0000"}"#, Kind::NullCharacter, 6, "/a");
    refused(r#"{"\u0000":1}"#, Kind::NullCharacter, 2, "");
}

#[test]
fn an_invalid_string_is_refused() {
    no_json("[\"a\nb\"]", "control character (\\u0000-\\u001F) found while parsing a string", 3, "/0");
    no_json("[\"a\0b\"]", "control character (\\u0000-\\u001F) found while parsing a string", 3, "/0");
    no_json(r#"["ab\x41"]"#, "invalid escape", 6, "/0");
    no_json(r#"["ab\u00g1"]"#, "invalid escape", 10, "/0");
    no_json(r#"["\u+123"]"#, "invalid escape", 8, "/0");
    no_json(r#"["\ud83d\u12"]"#, "invalid escape", 14, "/0");
    no_json(r#""ab"#, "EOF while parsing a string", 3, "");
    no_json(r#""ab\"#, "EOF while parsing a string", 4, "");
    no_json(r#""ab\u12"#, "EOF while parsing a string", 7, "");
}

#[test]
fn invalid_utf_8_is_refused_where_it_starts() {
    no_json(b"{\"a\":[\"\xC3\xA9\xC3\"]}", "invalid unicode code point", 9, "/a/0");
    no_json(b"\"\xED\xA0\x80\"", "invalid unicode code point", 2, ""); // a surrogate, as CESU-8 has it
    no_json(b"\"\xC0\xAF\"", "invalid unicode code point", 2, ""); // an overlong slash
    no_json(b"\xFF", "expected value", 1, "");
}

#[test]
fn a_document_is_one_value_and_nothing_else() {
    no_json("", "EOF while parsing a value", 1, "");
    no_json(" \n", "EOF while parsing a value", 1, "");
    refused("\u{feff}{}", Kind::ByteOrderMark, 1, "");
    no_json("{}\u{feff}", "trailing characters", 3, "");
    no_json("{} {}", "trailing characters", 4, "");
    no_json("{}\0", "trailing characters", 3, "");
    no_json("truefalse", "trailing characters", 5, "");
    no_json("[] // done", "trailing characters", 4, "");
    for blank in ["\u{b}", "\u{c}", "\u{a0}", "\u{2028}"] {
        no_json(format!("{blank}1"), "expected value", 1, "");
    }
}

#[test]
fn broken_structure_is_refused_where_it_breaks() {
    no_json("[1,]", "trailing comma", 4, "/1");
    no_json("[1 2]", "expected `,` or `]`", 4, "/1");
    no_json("[1", "EOF while parsing a list", 2, "/1");
    no_json("[", "EOF while parsing a list", 1, "/0");
    no_json("{", "EOF while parsing an object", 1, "");
    no_json("{a:1}", "key must be a string", 2, "");
    no_json("{\"a\":1,}", "trailing comma", 8, "");
    no_json("{\"a\" 1}", "expected `:`", 6, "/a");
    no_json("{\"a\":}", "expected value", 6, "/a");
    no_json("{\"a\":1 \"b\":2}", "expected `,` or `}`", 8, "");
    no_json("{\"a\":tru}", "expected ident", 9, "/a");
    no_json("]", "expected value", 1, "");
}

#[test]
fn an_error_has_pointer_line_and_column() {
    let error = error("{\n  \"lines\": [\n    {\"a/b~c\": \"é😀\", \"quantity\": 1x}\n  ]\n}");
    assert_eq!((error.line, error.column, error.pointer.as_str()), (3, 34, "/lines/0"));
    assert_eq!(error.to_string(), "line 3, column 34: expected `,` or `}`");
    no_json(r#"{"a/b~c":{"":[0,x]}}"#, "expected value", 17, "/a~1b~0c//1");
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(canonical(nested(64)), nested(64));
    refused(nested(65), Kind::TooDeep { limit: 64 }, 65, &"/0".repeat(64));
    refused("[".repeat(1_000_000), Kind::TooDeep { limit: 64 }, 65, &"/0".repeat(64));
    refused("{\"a\":".repeat(1_000_000), Kind::TooDeep { limit: 64 }, 64 * 5 + 1, &"/a".repeat(64));

    assert_eq!(read_document(b"1", 0), Ok(b"1".to_vec()));
    assert_eq!(read_document(b"[]", 0).unwrap_err().what, Kind::TooDeep { limit: 0 });
    assert_eq!(read_document(nested(127).as_bytes(), 127), Ok(nested(127).into_bytes()));
    assert_eq!(
        read_document(nested(128).as_bytes(), u8::MAX).unwrap_err().what,
        Kind::Syntax("recursion limit exceeded".to_owned())
    );
}

/// Quadratic time would show here: it would take minutes.
#[test]
fn a_hundred_thousand_members_are_sorted_and_compared() {
    let members = |names: &mut dyn Iterator<Item = u32>| {
        let members: Vec<String> = names.map(|name| format!("\"{name:06}\":1")).collect();
        format!("{{{}}}", members.join(","))
    };
    let sorted = members(&mut (0..100_000));
    assert_eq!(canonical(members(&mut (0..100_000).rev())), sorted);

    let last_again = members(&mut (0..100_000).chain([99_999]));
    assert_eq!(error(last_again).pointer, "/099999");
}
