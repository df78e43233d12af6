//! Where the key set is: a file, or a URL that an identity provider serves.

use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::{Client, Url, redirect, retry};
use thiserror::Error;

/// For the whole exchange, from the first byte of the handshake.
const DEADLINE: Duration = Duration::from_secs(5);
/// A key set has a few kilobytes; whatever is larger is something else.
const LONGEST: usize = 256 * 1024;

/// The key set cannot be used.
#[derive(Debug, Error)]
pub enum JwksError {
    /// Neither a path nor a URL that may be asked.
    #[error("{0}")]
    Location(&'static str),
    /// It cannot be read, now; later it may be.
    #[error("the key set {place} cannot be read: {why}")]
    Read {
        /// Which file or URL.
        place: String,
        /// Why.
        why: String,
    },
    /// It is not a JWKS, or holds no usable key.
    #[error("the key set {place} is not usable: {why}")]
    Unusable {
        /// Which file or URL.
        place: String,
        /// Why.
        why: String,
    },
}

/// Where the keys are that tokens are checked with.
#[derive(Debug, Clone)]
pub struct JwksSource(Place);

#[derive(Debug, Clone)]
enum Place {
    File(PathBuf),
    Url(Url, Client),
}

impl JwksSource {
    /// A path, or a URL. Who can change what comes over plain HTTP can make tokens: it is for this machine only,
    /// unless `plain_http` says otherwise.
    pub fn parse(text: &str, plain_http: bool) -> Result<Self, JwksError> {
        if !text.contains("://") {
            return Ok(Self(Place::File(PathBuf::from(text))));
        }
        let url = Url::parse(text).map_err(|_| JwksError::Location("it is no valid URL"))?;
        match url.scheme() {
            "https" => {}
            "http" if plain_http || is_this_machine(&url) => {}
            "http" => {
                return Err(JwksError::Location(
                    "over http anybody on the way could put in a key; use https, or allow it with auth.jwks_plain_http",
                ));
            }
            _ => return Err(JwksError::Location("its scheme is neither https nor http")),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(JwksError::Location("it has a user name or password, and key sets are public"));
        }
        // The process has one; whoever came first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("idem/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // Our configuration stands in our own variables, not in HTTP_PROXY.
            .no_proxy()
            // One request in minutes, and not always from the same runtime.
            .pool_max_idle_per_host(0)
            .timeout(DEADLINE);
        // Plain HTTP needs no root certificates, and a small image has none.
        let client = if url.scheme() == "http" { client.tls_certs_only([]) } else { client };
        let client = client.build().map_err(|error| JwksError::Read {
            place: shown(&url),
            why: format!("the HTTP client cannot be made: {error}"),
        })?;
        Ok(Self(Place::Url(url, client)))
    }

    /// What to call it in a message. What stands behind `?` in a URL may be a secret.
    pub(super) fn place(&self) -> String {
        match &self.0 {
            Place::File(path) => path.display().to_string(),
            Place::Url(url, _) => shown(url),
        }
    }

    /// The text of a file; `None` for a URL, which takes time.
    pub(super) fn read_at_once(&self) -> Option<Result<String, JwksError>> {
        match &self.0 {
            Place::File(path) => Some(read(path).map_err(|why| self.unread(why))),
            Place::Url(..) => None,
        }
    }

    /// The text, as it is now.
    pub(super) async fn read(&self) -> Result<String, JwksError> {
        let read = match &self.0 {
            Place::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read(&path)).await;
                read.unwrap_or_else(|error| Err(error.to_string()))
            }
            Place::Url(url, client) => fetch(client, url).await,
        };
        read.map_err(|why| self.unread(why))
    }

    fn unread(&self, why: String) -> JwksError {
        JwksError::Read { place: self.place(), why }
    }
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
}

fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

fn read(path: &Path) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    // One more than is allowed, to see that it is too long.
    let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() > LONGEST { Err(too_long()) } else { Ok(text) }
}

async fn fetch(client: &Client, url: &Url) -> Result<String, String> {
    let why = |error: reqwest::Error| {
        let error = error.without_url();
        let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
        causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
    };
    let mut response = client.get(url.clone()).send().await.map_err(why)?;
    if response.status() != 200 {
        return Err(format!("the answer is {}", response.status()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(why)? {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST {
            return Err(too_long());
        }
    }
    String::from_utf8(body).map_err(|error| error.to_string())
}

fn too_long() -> String {
    format!("it has more than {LONGEST} bytes")
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
    fn the_query_of_a_url_is_not_shown() {
        let source = JwksSource::parse("https://id.example/jwks?token=canary#canary", false).unwrap();
        assert_eq!(source.place(), "https://id.example/jwks");
    }
}
