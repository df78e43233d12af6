//! `Client`: sends requests with the credentials of a caller.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Method, Url};

use super::{Connection, Request, Response};
use crate::case_error::{CaseError, CaseResult, ensure, given};
use crate::target::{Caller, Target};
use crate::trial::FRESH;

/// The status of a request that a rate limit refuses.
pub(super) const TOO_MANY_REQUESTS: u16 = 429;

/// The longest time that a response may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// How often a request is sent that a rate limit refuses.
const ATTEMPTS: usize = 10;

/// The longest pause before the next attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

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

    /// Sends a request. If a rate limit refuses it, sends it again after the pause that `Retry-After` names.
    pub(crate) async fn send(&self, request: &Request) -> CaseResult<Response> {
        self.send_to(self.server(request)?, request).await
    }

    /// Sends a request to any server.
    pub(crate) async fn send_to(&self, server: &str, request: &Request) -> CaseResult<Response> {
        for _ in 0..ATTEMPTS {
            let response = self.send_once(server, request).await?;
            if response.status != TOO_MANY_REQUESTS {
                return Ok(response);
            }
            let seconds = response.header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
            let pause = Duration::from_secs(seconds.unwrap_or(1)).min(LONGEST_PAUSE);
            tokio::time::sleep(pause).await;
        }
        Err(CaseError::Failed(format!(
            "a rate limit refused {} {} with 429 in {ATTEMPTS} attempts: raise it for the suite",
            request.method, request.path
        )))
    }

    async fn send_once(&self, server: &str, request: &Request) -> CaseResult<Response> {
        let failed =
            |error: String| CaseError::Failed(format!("{} {}: {error}", request.method, request.path));
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

    /// Opens a new connection, on which a case writes the bytes of the request.
    pub(crate) async fn connect(&self, request: &Request) -> CaseResult<Connection> {
        let url = Url::parse(self.server(request)?).map_err(|error| CaseError::Failed(error.to_string()))?;
        let plain = (url.scheme() == "http").then_some(url);
        let url = given(plain, "the case writes bytes to a socket, which needs an http URL")?;
        Connection::open(&url, request, &self.headers(request)?).await
    }

    /// Sends a request on a new connection as bytes. HTTP libraries refuse to send an invalid one.
    pub(crate) async fn send_raw(&self, request: &Request) -> CaseResult<Response> {
        let mut connection = self.connect(request).await?;
        connection.finish().await;
        connection.response().await
    }

    fn server(&self, request: &Request) -> CaseResult<&str> {
        ensure(!request.path.contains(FRESH), || "[fresh] has no id left: raise its `count`".to_owned())?;
        given(self.target.server(request.instance), "the target has one instance only")
    }

    /// The credentials of the caller, then the headers of the request.
    fn headers(&self, request: &Request) -> CaseResult<Vec<(String, Vec<u8>)>> {
        let credentials = request.caller.map(|caller| self.credentials(caller)).transpose()?;
        let credentials = credentials.into_iter().flatten();
        let credentials = credentials.map(|(name, value)| (name.clone(), value.clone().into_bytes()));
        Ok(credentials.chain(request.headers.iter().cloned()).collect())
    }

    fn credentials(&self, caller: Caller) -> CaseResult<&BTreeMap<String, String>> {
        given(self.target.callers.get(&caller), &format!("the target has no [callers.{caller}]"))
    }
}
