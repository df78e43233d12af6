//! `Stripe-Signature: t=…,v1=…`: HMAC-SHA256 over the time and the exact bytes of the body.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// The value of the header.
pub(super) fn header(secret: &SecretString, time: i64, body: &str) -> String {
    let mut header = format!("t={time},v1=");
    // HMAC takes a key of any length, so this never fails.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes()) {
        mac.update(format!("{time}.{body}").as_bytes());
        for byte in mac.finalize().into_bytes() {
            let _ = write!(header, "{byte:02x}");
        }
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    // Computed by Stripe's Python library, stripe.WebhookSignature._compute_signature.
    #[test]
    fn a_signature_is_what_the_official_library_computes() {
        let header = header(&"whsec_new".into(), 1_700_000_000, r#"{"id":"evt_1"}"#);
        let signature = "f3ac0c93c23f69e2e6046d7f0e2c82c93d0403de0f8651457189ab70fbbfcaae";
        assert_eq!(header, format!("t=1700000000,v1={signature}"));
    }
}
