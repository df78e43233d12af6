//! `JwksSource`: the location of the key set, a file or a URL of an identity provider.

use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Client, Url, redirect, retry};
use thiserror::Error;

/// The longest time of a request, including the handshake.
const DEADLINE: Duration = Duration::from_secs(5);
/// The largest key set in bytes. Real ones have a few kilobytes.
const MAX_LENGTH: u32 = 256 * 1024;

/// The key set cannot be used.
#[derive(Debug, Error)]
pub enum JwksError {
    /// The text is neither a path nor an acceptable URL.
    #[error("{0}")]
    Location(&'static str),
    /// The key set cannot be read now. A later attempt may succeed.
    #[error("the key set {location} cannot be read: {why}")]
    Read {
        /// The file or URL.
        location: String,
        /// The reason.
        why: String,
    },
    /// The document is not a JWKS, or has no usable key.
    #[error("the key set {location} is not usable: {why}")]
    Unusable {
        /// The file or URL.
        location: String,
        /// The reason.
        why: String,
    },
}

/// The location of the keys that tokens are checked with.
#[derive(Debug, Clone)]
pub struct JwksSource(Location);

#[derive(Debug, Clone)]
enum Location {
    File(PathBuf),
    Url(Url, Client),
}

impl JwksSource {
    /// Parses a path or a URL. Plain HTTP is accepted for this machine only, unless `plain_http` is set, because an
    /// attacker who changes the response can make tokens.
    ///
    /// # Errors
    /// [`JwksError::Location`] if the URL is not acceptable, and [`JwksError::Read`] if its HTTP client cannot be created.
    pub fn parse(text: &str, plain_http: bool) -> Result<Self, JwksError> {
        if !text.contains("://") {
            return Ok(Self(Location::File(PathBuf::from(text))));
        }
        let url = Url::parse(text).map_err(|_| JwksError::Location("it is not a valid URL"))?;
        match url.scheme() {
            "https" => {}
            "http" if plain_http || is_this_machine(&url) => {}
            "http" => {
                return Err(JwksError::Location(
                    "plain http lets an attacker on the network insert a key; use https, or allow http with auth.jwks_plain_http",
                ));
            }
            _ => return Err(JwksError::Location("its scheme is neither https nor http")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(JwksError::Location("it has a user name or password, and key sets are public"));
        }
        // An error means that the process has a provider already; every caller installs the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("idem/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // The service has settings of its own; HTTP_PROXY is ignored.
            .no_proxy()
            // There is one request in minutes, not always from the same runtime.
            .pool_max_idle_per_host(0)
            .timeout(DEADLINE);
        // Plain HTTP needs no root certificates, and a small container image has none.
        let client = if url.scheme() == "http" { client.tls_certs_only([]) } else { client };
        let client = client.build().map_err(|error| JwksError::Read {
            location: without_query(&url),
            why: format!("the HTTP client cannot be created: {error}"),
        })?;
        Ok(Self(Location::Url(url, client)))
    }

    /// The location for messages, without the query of a URL, which may contain a secret.
    pub(super) fn location(&self) -> String {
        match &self.0 {
            Location::File(path) => path.display().to_string(),
            Location::Url(url, _) => without_query(url),
        }
    }

    /// Reads a file; `None` for a URL, because a request takes time.
    pub(super) fn read_at_once(&self) -> Option<Result<String, JwksError>> {
        match &self.0 {
            Location::File(path) => Some(read(path).map_err(|why| self.read_error(why))),
            Location::Url(..) => None,
        }
    }

    /// Reads the current text.
    pub(super) async fn read(&self) -> Result<String, JwksError> {
        let read = match &self.0 {
            Location::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read(&path)).await;
                read.unwrap_or_else(|error| Err(error.to_string()))
            }
            Location::Url(url, client) => fetch(client, url).await,
        };
        read.map_err(|why| self.read_error(why))
    }

    fn read_error(&self, why: String) -> JwksError {
        JwksError::Read { location: self.location(), why }
    }
}

fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

fn read(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    // One byte more than allowed, to notice a longer file.
    file.take(u64::from(MAX_LENGTH) + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() > MAX_LENGTH as usize { Err(too_long()) } else { Ok(text) }
}

async fn fetch(client: &Client, url: &Url) -> Result<String, String> {
    let why = |error: reqwest::Error| {
        let error = error.without_url();
        let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
    };
    let mut response = client.get(url.clone()).send().await.map_err(why)?;
    if response.status() != 200 {
        return Err(format!("the response is {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(why)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LENGTH as usize {
            return Err(too_long());
        }
    }
    String::from_utf8(body).map_err(|error| error.to_string())
}

fn too_long() -> String {
    format!("it has more than {MAX_LENGTH} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_unless_the_setting_says_otherwise() {
        for text in [
            "https://id.example/jwks",
            "http://localhost:9/jwks",
            "http://127.0.0.1/jwks",
            "http://[::1]:9/jwks",
            "jwks.json",
            "/run/keys/jwks.json",
        ] {
            JwksSource::parse(text, false).unwrap();
        }
        for text in ["http://id.example/jwks", "http://localhost.example/jwks", "http://10.0.0.1/jwks"] {
            let error = JwksSource::parse(text, false).unwrap_err();
            assert!(error.to_string().contains("auth.jwks_plain_http"), "{error}");
            JwksSource::parse(text, true).unwrap();
        }
        for text in ["ftp://id.example/jwks", "https://", "https://user:canary@id.example/jwks"] {
            let error = JwksSource::parse(text, true).unwrap_err();
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn the_location_hides_query_and_fragment() {
        let source = JwksSource::parse("https://id.example/jwks?token=canary#canary", false).unwrap();
        assert_eq!(source.location(), "https://id.example/jwks");
    }
}
