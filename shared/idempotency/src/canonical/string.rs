//! Strings: reads every spelling of a text to the text itself, and writes it with as few escapes as JSON allows. There is
//! no Unicode normalisation, so two texts that look alike stay different.

use std::borrow::Cow;

use super::cursor::Cursor;
use super::error::{JsonErrorKind, ReadError};

/// Reads a string from its opening quote.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, ReadError> {
    cursor.next();
    let mut text = Cow::Borrowed("");
    loop {
        let start = cursor.offset();
        let plain = cursor.run(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        text += std::str::from_utf8(plain)
            .map_err(|error| ReadError::at(start + error.valid_up_to(), JsonErrorKind::InvalidUtf8))?;
        match cursor.peek() {
            Some(b'"') => {
                cursor.next();
                return Ok(text);
            }
            Some(b'\\') => text.to_mut().push(read_escape(cursor)?),
            Some(_) => return Err(cursor.error(JsonErrorKind::ControlCharacter)),
            None => return Err(cursor.expected("the closing quote of a string")),
        }
    }
}

/// Reads one escape, or the two escapes of a surrogate pair. Errors are positioned at the backslash.
fn read_escape(cursor: &mut Cursor<'_>) -> Result<char, ReadError> {
    let start = cursor.offset();
    cursor.next();
    match cursor.next() {
        Some(same @ (b'"' | b'\\' | b'/')) => Ok(char::from(same)),
        Some(b'b') => Ok('\u{8}'),
        Some(b'f') => Ok('\u{c}'),
        Some(b'n') => Ok('\n'),
        Some(b'r') => Ok('\r'),
        Some(b't') => Ok('\t'),
        Some(b'u') => read_code_units(cursor, start),
        Some(_) => Err(ReadError::at(start, JsonErrorKind::WrongEscape)),
        None => Err(cursor.expected("the rest of an escape")),
    }
}

fn read_code_units(cursor: &mut Cursor<'_>, start: usize) -> Result<char, ReadError> {
    let first = read_code_unit(cursor, start)?;
    if first == 0 {
        return Err(ReadError::at(start, JsonErrorKind::NullCharacter));
    }
    let is_high_surrogate = (0xD800..0xDC00).contains(&first);
    let second = if is_high_surrogate && cursor.eat(b"\\u") { read_code_unit(cursor, start)? } else { 0 };
    match char::decode_utf16([first, second]).next() {
        Some(Ok(character)) => Ok(character),
        _ => Err(ReadError::at(start, JsonErrorKind::LoneSurrogate)),
    }
}

fn read_code_unit(cursor: &mut Cursor<'_>, start: usize) -> Result<u16, ReadError> {
    let mut unit = 0;
    for _ in 0..4 {
        let Some(byte) = cursor.next() else {
            return Err(cursor.expected("the rest of an escape"));
        };
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return Err(ReadError::at(start, JsonErrorKind::WrongEscape)),
        };
        unit = unit << 4 | u16::from(digit);
    }
    Ok(unit)
}

/// Writes the string as RFC 8785 requires: UTF-8, with escapes only where JSON requires them.
pub(super) fn write(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0x00..=0x1F => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 0x0F)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
