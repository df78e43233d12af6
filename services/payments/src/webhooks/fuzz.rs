//! The fuzz target `signature`: the `Stripe-Signature` header and the body of a webhook, separated by the first newline.
//! This test replays its corpus, and `./dev fuzz signature` searches for new inputs.

use std::fmt::Write as _;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::SecretString;
use sha2::Sha256;

use super::{SignatureError, verify};

const SECRET: &str = "whsec_fuzz";
const NOW: i64 = 1_492_774_577;
const TOLERANCE: u64 = 300;

#[test]
fn only_a_signature_by_the_secret_verifies_and_only_for_its_time_and_body() {
    bolero::check!(name = "signature").with_iterations(0).for_each(|input| {
        let Some(end) = input.iter().position(|&byte| byte == b'\n') else { return };
        let (Ok(header), body) = (str::from_utf8(&input[..end]), &input[end + 1..]) else { return };
        if check(header, body).is_ok() {
            assert!(is_signed(header, body), "verified, but not signed by the secret");
        }
        a_signed_time_decides(header, body);
        other_parts_of_the_header_change_nothing(header, body);
        another_body_is_forged(header.len(), body);
        the_dot_has_one_place(body);
    });
}

fn check(header: &str, body: &[u8]) -> Result<(), SignatureError> {
    verify(header, body, &[SecretString::from(SECRET)], NOW, Duration::from_secs(TOLERANCE))
}

fn signed(time: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&[time.as_bytes(), b".", body].concat());
    mac.finalize().into_bytes().iter().fold(format!("t={time},v1="), |mut header, byte| {
        let _ = write!(header, "{byte:02x}");
        header
    })
}

/// The first time in the header.
fn time(header: &str) -> Option<&str> {
    header.split(',').find_map(|part| part.trim().strip_prefix("t="))
}

fn is_signed(header: &str, body: &[u8]) -> bool {
    let Some(time) = time(header) else { return false };
    let signed = signed(time, body);
    let is_near = time.parse().is_ok_and(|seconds: i64| seconds.abs_diff(NOW) <= TOLERANCE);
    is_near
        && header.split(',').any(|part| signed.ends_with(&format!(",{}", part.trim().to_ascii_lowercase())))
}

fn a_signed_time_decides(header: &str, body: &[u8]) {
    let Some(time) = time(header) else { return };
    let expected = match time.parse::<i64>() {
        Err(_) => Err(SignatureError::Malformed),
        Ok(seconds) if seconds.abs_diff(NOW) > TOLERANCE => Err(SignatureError::Stale),
        Ok(_) => Ok(()),
    };
    assert_eq!(check(&signed(time, body), body), expected, "signed at {time}");
}

/// Further parts can make the header malformed, such as a second time.
fn other_parts_of_the_header_change_nothing(header: &str, body: &[u8]) {
    let signed = signed(&NOW.to_string(), body);
    assert_eq!(check(&signed, body), Ok(()));
    for both in [format!("{signed},{header}"), format!("{header},{signed}")] {
        assert!(matches!(check(&both, body), Ok(()) | Err(SignatureError::Malformed)), "{both}");
    }
}

fn another_body_is_forged(choice: usize, body: &[u8]) {
    let signed = signed(&NOW.to_string(), body);
    let (mut longer, mut changed) = (body.to_vec(), body.to_vec());
    longer.push(u8::try_from(choice % 256).unwrap());
    assert_eq!(check(&signed, &longer), Err(SignatureError::Forged));
    if let [first, ..] = &mut changed[choice % body.len().max(1)..] {
        *first ^= 1 << (choice % 8);
        assert_eq!(check(&signed, &changed), Err(SignatureError::Forged));
    }
}

/// `t=1` with the body `2.3` and `t=1.2` with the body `3` are the same signed bytes.
fn the_dot_has_one_place(body: &[u8]) {
    let dots = body.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    for at in dots.take(8) {
        let Ok(start) = str::from_utf8(&body[..at]) else { return };
        let time = format!("{NOW}.{start}");
        let moved = signed(&NOW.to_string(), body).replacen(&NOW.to_string(), &time, 1);
        assert_ne!(check(&moved, &body[at + 1..]), Ok(()), "the time is {time}");
    }
}
