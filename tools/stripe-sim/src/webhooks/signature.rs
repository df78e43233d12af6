//! `Stripe-Signature: t=…,v1=…`: HMAC-SHA256 over the time and the exact bytes of the body.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The header's value. While a secret is being rolled there are two, and each signs.
pub(super) fn header(secrets: &[SecretString], time: i64, body: &str) -> String {
    let mut header = format!("t={time}");
    for secret in secrets {
        header.push_str(",v1=");
        header.push_str(&sign(secret, time, body));
    }
    header
}

fn sign(secret: &SecretString, time: i64, body: &str) -> String {
    let mut signature = String::new();
    // HMAC takes a key of any length.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) {
        mac.update(format!("{time}.{body}").as_bytes());
        for byte in mac.finalize().into_bytes() {
            let _ = write!(signature, "{byte:02x}");
        }
    }
    signature
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected value is that of the official Python library, stripe.WebhookSignature._compute_signature.
    #[test]
    fn a_signature_is_what_the_official_library_computes() {
        let secrets = ["whsec_new".into(), "whsec_old".into()];
        let header = header(&secrets, 1_700_000_000, r#"{"id":"evt_1"}"#);
        let signatures: Vec<&str> = header.split(',').collect();
        assert_eq!(signatures[0], "t=1700000000");
        assert_eq!(signatures[1], "v1=f3ac0c93c23f69e2e6046d7f0e2c82c93d0403de0f8651457189ab70fbbfcaae");
        assert_eq!(signatures[2], "v1=ef1b1b7e4b312671a75ef2a03e10529f7834a6528a49db77ad6568c8c8017843");
    }
}
