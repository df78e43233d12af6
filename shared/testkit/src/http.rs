//! An HTTP client for tests.

use std::sync::Once;

/// A client that follows no redirects. It installs a TLS provider once for the process, because reqwest needs one even
/// for plain HTTP.
pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}
