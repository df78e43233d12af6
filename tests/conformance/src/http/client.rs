//! `Client`: sends requests with the credentials of a caller.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, Url};

use super::{Connection, Request, Response};
use crate::finding::{Finding, Verdict, given};
use crate::target::Target;

/// The longest that a response may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Sends requests. Cheap to share.
pub(crate) struct Client<'t> {
    target: &'t Target,
    http: reqwest::Client,
}

impl<'t> Client<'t> {
    pub(crate) fn new(target: &'t Target) -> reqwest::Result<Self> {
        // reqwest asks for a provider even for plain HTTP. Another crate may have installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().redirect(Policy::none()).timeout(TIMEOUT).build()?;
        Ok(Self { target, http })
    }

    /// Sends a request, and again after the pause that a rate limit asks for.
    pub(crate) async fn send(&self, request: &Request) -> Verdict<Response> {
        self.send_to(self.server(request)?, request).await
    }

    /// Sends a request to any server.
    pub(crate) async fn send_to(&self, server: &str, request: &Request) -> Verdict<Response> {
        loop {
            let response = self.send_once(server, request).await?;
            let pause = response.header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
            match pause {
                Some(seconds) if response.status == 429 => {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
                _ => return Ok(response),
            }
        }
    }

    async fn send_once(&self, server: &str, request: &Request) -> Verdict<Response> {
        let failed = |error: String| Finding::Failed(format!("{} {}: {error}", request.method, request.path));
        let url = format!("{server}{}", request.path);
        let method =
            Method::from_bytes(request.method.as_bytes()).map_err(|error| failed(error.to_string()))?;
        let mut sent = self.http.request(method, url).body(request.body.clone());
        for (name, value) in self.headers(request)? {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| failed(error.to_string()))?;
            let value = HeaderValue::from_bytes(&value).map_err(|error| failed(error.to_string()))?;
            sent = sent.header(name, value);
        }
        let response = sent.send().await.map_err(|error| failed(format!("no response: {error}")))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| failed(format!("half a response: {error}")))?;
        Ok(Response { status, headers, body: body.to_vec() })
    }

    /// A connection of its own, on which a case writes what it wants.
    pub(crate) async fn connect(&self, request: &Request) -> Verdict<Connection> {
        let url = Url::parse(self.server(request)?).map_err(|error| Finding::Failed(error.to_string()))?;
        let plain = (url.scheme() == "http").then_some(url);
        let url = given(plain, "the case writes bytes to a socket, which needs an http URL")?;
        Connection::open(&url, request, &self.headers(request)?).await
    }

    /// Sends the same bytes as [`Client::send`] on a connection of its own, which HTTP libraries refuse to send if they are
    /// not valid.
    pub(crate) async fn send_raw(&self, request: &Request) -> Verdict<Response> {
        let mut connection = self.connect(request).await?;
        connection.finish().await?;
        connection.response().await
    }

    fn server(&self, request: &Request) -> Verdict<&str> {
        given(self.target.server(request.instance), "the target has one instance only")
    }

    /// The credentials of the caller, then the headers of the request.
    fn headers(&self, request: &Request) -> Verdict<Vec<(String, Vec<u8>)>> {
        let nothing = BTreeMap::new();
        let credentials = match request.principal {
            None => &nothing,
            Some(principal) => {
                let credentials = self.target.principals.get(&principal);
                given(credentials, &format!("the target has no [principals.{principal}]"))?
            }
        };
        let credentials = credentials.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes()));
        Ok(credentials.chain(request.headers.iter().cloned()).collect())
    }
}
