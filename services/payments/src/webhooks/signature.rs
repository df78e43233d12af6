//! Verifies the signature of an event.
//!
//! The scheme is Stripe's: `Stripe-Signature: t=UNIX,v1=HEX[,v1=HEX…]`, an HMAC-SHA256 over `t.body`.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The greatest number of signatures in a header. While a secret is replaced, the processor signs with each secret.
const MAX_SIGNATURES: usize = 3;
const SHA256_BYTES: usize = 32;

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureError {
    /// The header does not have the form above.
    Malformed,
    /// No signature fits this time and body under any of the secrets.
    Forged,
    /// The signature fits, but its time is too far from now. The event may be a replayed copy.
    Stale,
}

/// Accepts a body if one of its signatures fits one of the secrets, and its time is within `tolerance` of `now` (Unix
/// seconds) in both directions. The comparison takes constant time.
pub(crate) fn verify(
    header: &str,
    body: &[u8],
    secrets: &[SecretString],
    now: i64,
    tolerance: Duration,
) -> Result<(), SignatureError> {
    let Signed { time, signatures } = Signed::read(header).ok_or(SignatureError::Malformed)?;
    let is_ours = secrets.iter().any(|secret| {
        let expected = hmac(secret, time, body);
        signatures
            .iter()
            .any(|signature| expected.clone().is_some_and(|hmac| hmac.verify_slice(signature).is_ok()))
    });
    if !is_ours {
        return Err(SignatureError::Forged);
    }
    let seconds = time.parse::<i64>().map_err(|_| SignatureError::Malformed)?;
    if now.abs_diff(seconds) > tolerance.as_secs() { Err(SignatureError::Stale) } else { Ok(()) }
}

/// The content of the header. The time stays text, because the signature covers the text.
struct Signed<'h> {
    time: &'h str,
    signatures: Vec<[u8; SHA256_BYTES]>,
}

impl<'h> Signed<'h> {
    /// Reads the header. Schemes other than `v1` are ignored, because the processor may add some.
    fn read(header: &'h str) -> Option<Self> {
        let mut time = None;
        let mut signatures = Vec::new();
        for part in header.split(',') {
            match part.trim().split_once('=')? {
                ("t", _) if time.is_some() => return None,
                ("t", value) => time = Some(value),
                ("v1", value) => signatures.push(bytes(value)?),
                _ => {}
            }
        }
        let has_valid_number = (1..=MAX_SIGNATURES).contains(&signatures.len());
        time.filter(|_| has_valid_number).map(|time| Self { time, signatures })
    }
}

/// Computes the HMAC. HMAC accepts keys of every length, so the result is never `None`.
fn hmac(secret: &SecretString, time: &str, body: &[u8]) -> Option<Hmac<Sha256>> {
    let mut hmac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret.expose_secret().as_bytes()).ok()?;
    hmac.update(time.as_bytes());
    hmac.update(b".");
    hmac.update(body);
    Some(hmac)
}

/// Reads 32 bytes of hexadecimal, in lower or upper case.
fn bytes(hex: &str) -> Option<[u8; SHA256_BYTES]> {
    let digits = hex.as_bytes();
    if digits.len() != 2 * SHA256_BYTES {
        return None;
    }
    let mut bytes = [0; SHA256_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: i64 = 1_492_774_577;
    const SECRET: &str = "whsec_test_secret";
    const BODY: &[u8] = br#"{"id": "evt_test_webhook", "object": "event"}"#;
    // printf '1492774577.{"id": "evt_test_webhook", "object": "event"}' | openssl dgst -sha256 -hmac whsec_test_secret
    const VECTOR: &str = "c137b1b62277d523cf8fed4dfbd0170a9a5b8a380e00cc3711d4bf0652f2ce7a";
    // The same with whsec_older.
    const OLDER: &str = "b1c079a3588b786f71dee751bdb3c05512eb91d56df74a72cb884f09b1ac71e3";

    fn secrets(of: &[&str]) -> Vec<SecretString> {
        of.iter().map(|secret| (*secret).into()).collect()
    }

    fn check(header: &str, body: &[u8], of: &[&str], now: i64) -> Result<(), SignatureError> {
        verify(header, body, &secrets(of), now, Duration::from_mins(5))
    }

    #[test]
    fn the_documented_signature_scheme_is_verified() {
        let header = format!(
            "t={TIME},v1={VECTOR},v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"
        );
        assert_eq!(check(&header, BODY, &[SECRET], TIME), Ok(()));
    }

    #[test]
    fn an_altered_or_foreign_message_is_forged() {
        let header = format!("t={TIME},v1={VECTOR}");
        let mut altered = BODY.to_vec();
        altered[5] ^= 1;
        assert_eq!(
            check(&header, &altered, &[SECRET], TIME),
            Err(SignatureError::Forged),
            "one bit of the body"
        );
        let later = format!("t={},v1={VECTOR}", TIME + 1);
        assert_eq!(check(&later, BODY, &[SECRET], TIME), Err(SignatureError::Forged), "another time");
        let flipped = format!("t={TIME},v1=0{}", &VECTOR[1..]);
        assert_eq!(check(&flipped, BODY, &[SECRET], TIME), Err(SignatureError::Forged), "another signature");
        assert_eq!(
            check(&header, BODY, &["whsec_other"], TIME),
            Err(SignatureError::Forged),
            "another secret"
        );
        assert_eq!(check(&header, BODY, &[], TIME), Err(SignatureError::Forged), "no secret");
    }

    #[test]
    fn a_signature_is_accepted_within_five_minutes_of_its_time() {
        let header = format!("t={TIME},v1={VECTOR}");
        for (seconds, expected) in [
            (-301, Err(SignatureError::Stale)),
            (-300, Ok(())),
            (0, Ok(())),
            (300, Ok(())),
            (301, Err(SignatureError::Stale)),
        ] {
            assert_eq!(check(&header, BODY, &[SECRET], TIME + seconds), expected, "{seconds} s");
        }
    }

    #[test]
    fn during_a_rotation_each_secret_is_accepted() {
        let of_older = format!("t={TIME},v1={OLDER}");
        assert_eq!(check(&of_older, BODY, &[SECRET, "whsec_older"], TIME), Ok(()));
        assert_eq!(check(&of_older, BODY, &[SECRET], TIME), Err(SignatureError::Forged));
        let of_both = format!("t={TIME},v1={VECTOR},v1={OLDER}");
        for secret in [SECRET, "whsec_older"] {
            assert_eq!(check(&of_both, BODY, &[secret], TIME), Ok(()), "{secret}");
        }
    }

    #[test]
    fn a_malformed_signature_is_refused_before_any_computation() {
        let short = &VECTOR[2..];
        for header in [
            String::new(),
            format!("t={TIME}"),
            format!("v1={VECTOR}"),
            format!("t={TIME},v0={VECTOR}"),
            format!("t={TIME},v1={short}"),
            format!("t={TIME},v1={short}zz"),
            format!("t={TIME},v1=é{short}"),
            format!("t={TIME},t={TIME},v1={VECTOR}"),
            format!("t={TIME},v1={VECTOR},nonsense"),
            format!("t={TIME}{}", format!(",v1={VECTOR}").repeat(4)),
        ] {
            assert_eq!(check(&header, BODY, &[SECRET], TIME), Err(SignatureError::Malformed), "{header}");
        }
    }
}
