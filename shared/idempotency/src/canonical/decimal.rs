//! Numbers by their decimal digits. Without floating point, different amounts stay different.

use std::borrow::Cow;

use super::error::{JsonErrorKind, MAX_DIGITS, MAX_EXPONENT};

/// Writes `number`, any spelling that JSON allows, in its one form. A long spelling takes time, but no more memory than
/// its length.
pub(super) fn write(number: &str, out: &mut Vec<u8>) -> Result<(), JsonErrorKind> {
    let unsigned = number.trim_start_matches('-');
    let (mantissa, exponent) = split(unsigned, |byte| matches!(byte, b'e' | b'E'));
    let (integer, fraction) = split(mantissa, |byte| byte == b'.');
    let digits =
        if fraction.is_empty() { Cow::from(integer) } else { Cow::from([integer, fraction].concat()) };

    let without_leading = digits.trim_start_matches('0');
    let significant = without_leading.trim_end_matches('0');
    if significant.is_empty() {
        out.push(b'0'); // has no sign and no exponent
        return Ok(());
    }
    if significant.len() > MAX_DIGITS {
        return Err(JsonErrorKind::TooManyDigits);
    }
    let exponent = if exponent.is_empty() { Ok(0) } else { exponent.parse::<i64>() };
    let point = exponent
        .ok()
        .and_then(|exponent| exponent.checked_add_unsigned(without_leading.len() as u64))
        .and_then(|end| end.checked_sub_unsigned(fraction.len() as u64))
        .filter(|point| (1 - MAX_EXPONENT..=1 + MAX_EXPONENT).contains(point))
        .ok_or(JsonErrorKind::ExponentOutOfRange)?;
    if number.starts_with('-') {
        out.push(b'-');
    }
    write_digits(significant.as_bytes(), point, out);
    Ok(())
}

/// The text before and behind the first byte that `separates`.
fn split(text: &str, separates: impl Fn(u8) -> bool) -> (&str, &str) {
    text.bytes().position(separates).map_or((text, ""), |at| (&text[..at], &text[at + 1..]))
}

/// Writes 0.DIGITS × 10^point as ECMAScript and RFC 8785 do: plain from 10^-6 up to 10^21, otherwise with an exponent.
fn write_digits(digits: &[u8], point: i64, out: &mut Vec<u8>) {
    match (usize::try_from(point), usize::try_from(-point)) {
        (Ok(point @ 1..=21), _) if point >= digits.len() => {
            out.extend_from_slice(digits);
            out.resize(out.len() + point - digits.len(), b'0');
        }
        (Ok(point @ 1..=21), _) => {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
        (_, Ok(zeros @ 0..=5)) => {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + zeros, b'0');
            out.extend_from_slice(digits);
        }
        _ => {
            let (first, others) = digits.split_at(1);
            out.extend_from_slice(first);
            if !others.is_empty() {
                out.push(b'.');
                out.extend_from_slice(others);
            }
            out.extend_from_slice(format!("e{:+}", point - 1).as_bytes());
        }
    }
}
