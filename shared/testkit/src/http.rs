//! An HTTP client for tests.

use std::sync::Once;

/// A client that follows no redirects. The TLS provider is installed once for a process: reqwest asks for one even
/// where only plain HTTP is spoken.
pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
