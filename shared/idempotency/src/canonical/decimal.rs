//! `Decimal`: a number by its decimal digits. Without floating point, different amounts stay different.

use super::cursor::Cursor;
use super::error::{JsonErrorKind, MAX_DIGITS, MAX_EXPONENT, ReadError};

/// ±0.DIGITS × 10^point, the first and the last digit not zero. Zero has no digits and no sign.
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// Reads a number. A long spelling takes time, but no memory.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadError> {
        let start = cursor.offset();
        let negative = cursor.eat(b"-");
        let integer = read_digits(cursor)?;
        if integer.len() > 1 && integer.starts_with(b"0") {
            return Err(ReadError::at(start, JsonErrorKind::LeadingZero));
        }
        let fraction = if cursor.eat(b".") { read_digits(cursor)? } else { b"" };
        let exponent = read_exponent(cursor)?;

        let (digits, point) = significant(integer, fraction)
            .ok_or_else(|| ReadError::at(start, JsonErrorKind::TooManyDigits))?;
        if digits.is_empty() {
            return Ok(Self { negative: false, digits, point: 0 });
        }
        let point = point + exponent;
        if (point - 1).abs() > MAX_EXPONENT {
            return Err(ReadError::at(start, JsonErrorKind::ExponentOutOfRange));
        }
        Ok(Self { negative, digits, point })
    }

    /// Writes the number as ECMAScript and RFC 8785 do: plain from 10^-6 up to 10^21, otherwise with an exponent.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let digits = self.digits.as_slice();
        match (usize::try_from(self.point), usize::try_from(-self.point)) {
            _ if digits.is_empty() => out.push(b'0'),
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
            _ => self.write_with_exponent(out),
        }
    }

    fn write_with_exponent(&self, out: &mut Vec<u8>) {
        let (first, others) = self.digits.split_at(1);
        out.extend_from_slice(first);
        if !others.is_empty() {
            out.push(b'.');
            out.extend_from_slice(others);
        }
        out.extend_from_slice(format!("e{:+}", self.point - 1).as_bytes());
    }
}

fn read_digits<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], ReadError> {
    match cursor.run(|byte| byte.is_ascii_digit()) {
        [] => Err(cursor.expected("a digit")),
        digits => Ok(digits),
    }
}

/// Reads the exponent, if there is one. Far outside the range it saturates, because no fraction is long enough to bring it
/// back.
fn read_exponent(cursor: &mut Cursor<'_>) -> Result<i64, ReadError> {
    const FAR: i64 = i64::MAX / 4;
    if !(cursor.eat(b"e") || cursor.eat(b"E")) {
        return Ok(0);
    }
    let negative = cursor.eat(b"-");
    if !negative {
        cursor.eat(b"+");
    }
    let size = read_digits(cursor)?
        .iter()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')).min(FAR));
    Ok(if negative { -size } else { size })
}

/// The digits without the zeros at both ends, and the position of the point relative to the first of them; `None` if there
/// are more than [`MAX_DIGITS`].
fn significant(integer: &[u8], fraction: &[u8]) -> Option<(Vec<u8>, i64)> {
    let mut digits = Vec::new();
    let mut point = 0;
    let mut zeros = 0; // after the last digit; significant only if another digit follows
    let positions =
        integer.iter().map(|digit| (digit, true)).chain(fraction.iter().map(|digit| (digit, false)));
    for (&digit, before_point) in positions {
        if digit != b'0' {
            if digits.len() + zeros + 1 > MAX_DIGITS {
                return None;
            }
            digits.resize(digits.len() + zeros, b'0');
            digits.push(digit);
            zeros = 0;
        } else if !digits.is_empty() {
            zeros += 1;
        }
        match (before_point, digits.is_empty()) {
            (true, false) => point += 1,
            (false, true) => point -= 1,
            _ => {}
        }
    }
    Some((digits, point))
}
