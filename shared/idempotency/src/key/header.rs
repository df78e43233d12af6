//! The grammar of the `Idempotency-Key` header: a structured-field string, as the IETF draft requires, or a bare token, as
//! most libraries send. Other forms are errors.

use super::KeyError;

/// Reads the key of a header value, in visible ASCII. It does not check the length.
pub(super) fn read(header_value: &[u8]) -> Result<String, KeyError> {
    let value = trim_blanks(header_value);
    match value {
        [] => Err(KeyError::Empty),
        [b'"', ..] => quoted(value),
        [b'(', ..] => Err(KeyError::List),
        [b':', ..] => Err(KeyError::OtherType { found: "a byte sequence" }),
        [b'?', ..] => Err(KeyError::OtherType { found: "a boolean" }),
        [b'@', ..] => Err(KeyError::OtherType { found: "a date" }),
        [b'%', ..] => Err(KeyError::OtherType { found: "a display string" }),
        [b'-', digit, ..] if digit.is_ascii_digit() => Err(KeyError::OtherType { found: "a number" }),
        _ => bare(value),
    }
}

/// Removes HTTP's optional white space around a field value.
fn trim_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Reads `[A-Za-z0-9][A-Za-z0-9._~:+/=-]*`. Without quote, comma and space it differs from all structured types.
fn bare(value: &[u8]) -> Result<String, KeyError> {
    let mut key = String::with_capacity(value.len());
    for (at, &byte) in value.iter().enumerate() {
        let position = at + 1;
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => key.push(char::from(byte)),
            b'.' | b'_' | b'~' | b':' | b'+' | b'/' | b'=' | b'-' if at > 0 => key.push(char::from(byte)),
            b',' => return Err(KeyError::List),
            0x21..=0x7E => return Err(KeyError::NeedsQuotes { position }),
            _ => return Err(KeyError::WrongCharacter { position }),
        }
    }
    Ok(key)
}

/// Reads an RFC 9651 Item of type String. The string must be visible ASCII, so a key with a space is an error.
fn quoted(value: &[u8]) -> Result<String, KeyError> {
    let mut key = String::with_capacity(value.len());
    let mut at = 1;
    while let Some(&byte) = value.get(at) {
        match byte {
            b'"' => {
                parameters(value, at + 1)?;
                return Ok(key);
            }
            b'\\' => match value.get(at + 1) {
                Some(&escaped @ (b'"' | b'\\')) => {
                    key.push(char::from(escaped));
                    at += 1;
                }
                Some(_) => return Err(KeyError::WrongEscape { position: at + 1 }),
                None => return Err(KeyError::Unterminated),
            },
            0x21..=0x7E => key.push(char::from(byte)),
            _ => return Err(KeyError::WrongCharacter { position: at + 1 }),
        }
        at += 1;
    }
    Err(KeyError::Unterminated)
}

/// Checks that `value[at..]` consists of parameters: `;name` or `;name=item`. They are ignored, but a value that is not a
/// structured field must be an error.
fn parameters(value: &[u8], mut at: usize) -> Result<(), KeyError> {
    while let Some(&byte) = value.get(at) {
        let rest = &value[at..];
        if starts_another_member(rest) {
            return Err(KeyError::List);
        }
        let length = if byte == b';' { parameter_length(rest) } else { None };
        at += length.ok_or(KeyError::WrongParameter { position: at + 1 })?;
    }
    Ok(())
}

fn starts_another_member(rest: &[u8]) -> bool {
    trim_blanks(rest).first() == Some(&b',')
}

/// The length of `; name=item` at the start of `rest`; `None` if there is no parameter.
fn parameter_length(rest: &[u8]) -> Option<usize> {
    let name_at = 1 + run(&rest[1..], |byte| byte == b' ');
    if !matches!(rest.get(name_at)?, b'a'..=b'z' | b'*') {
        return None;
    }
    let name = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*');
    let name_end = name_at + run(&rest[name_at..], name);
    match rest.get(name_end) {
        Some(b'=') => Some(name_end + 1 + item_length(&rest[name_end + 1..])?),
        _ => Some(name_end),
    }
}

/// The length of a parameter's value at the start of `rest`. Only its end matters, so all types without quotes are one
/// case, and their content is not checked.
fn item_length(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'"', ..] => string_length(rest),
        [b'%', b'"', text @ ..] => {
            let length = run(text, |byte| matches!(byte, 0x20..=0x7E) && byte != b'"');
            (text.get(length) == Some(&b'"')).then_some(length + 3)
        }
        _ => match run(rest, |byte| matches!(byte, 0x21..=0x7E) && !b"\",;".contains(&byte)) {
            0 => None,
            length => Some(length),
        },
    }
}

fn string_length(rest: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match rest.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' if matches!(rest.get(at + 1), Some(b'"' | b'\\')) => at += 2,
            b'\\' => return None,
            0x20..=0x7E => at += 1,
            _ => return None,
        }
    }
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| belongs(**byte)).count()
}
