//! `Stripe-Signature`, as the owner of the secret writes it.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header `Stripe-Signature` of a body that is signed at this time, in Unix seconds.
pub fn webhook_signature(secret: &str, time: i64, body: &str) -> String {
    let mut header = format!("t={time},v1=");
    // HMAC takes a key of any length.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
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

    // printf '1492774577.{"id": "evt_test_webhook", "object": "event"}' | openssl dgst -sha256 -hmac whsec_test_secret
    #[test]
    fn the_documented_signature_scheme_is_written() {
        let header = webhook_signature(
            "whsec_test_secret",
            1_492_774_577,
            r#"{"id": "evt_test_webhook", "object": "event"}"#,
        );
        let signature = "c137b1b62277d523cf8fed4dfbd0170a9a5b8a380e00cc3711d4bf0652f2ce7a";
        assert_eq!(header, format!("t=1492774577,v1={signature}"));
    }
}
