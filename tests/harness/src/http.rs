//! Requests to a part of the installation, and their responses, read to the end.

use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::{Context, Error, Instance, Part, Result};

/// The longest that a response may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A request to a part, whichever of its instances gets it. A retry sends the same value, and so the same bytes.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The part.
    pub part: Part,
    /// The path with its query.
    pub path: String,
    /// A JSON body.
    pub body: Option<String>,
    /// The idempotency key.
    pub key: Option<String>,
    /// More headers. `Content-Type` is `application/json` unless it is among them.
    pub headers: Vec<(&'static str, String)>,
}

impl Request {
    /// A read.
    pub fn get(part: Part, path: impl Into<String>) -> Self {
        Self { method: Method::GET, part, path: path.into(), body: None, key: None, headers: Vec::new() }
    }

    /// A command with a new key.
    pub fn post(part: Part, path: impl Into<String>, body: &Value) -> Self {
        let key = Some(Uuid::new_v4().to_string());
        Self { method: Method::POST, body: Some(body.to_string()), key, ..Self::get(part, path) }
    }

    /// The same request under this key.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// The same request without a key.
    #[must_use]
    pub fn without_key(self) -> Self {
        Self { key: None, ..self }
    }

    /// The same request with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Method, path and part, for messages.
    pub fn name(&self) -> String {
        format!("{} {} of {}", self.method, self.path, self.part.name())
    }
}

/// The fence of a key at a service.
pub fn fence(part: Part, key: &str) -> Request {
    let path = format!("/v1/idempotency-keys/{key}/fence");
    Request { method: Method::POST, ..Request::get(part, path) }
}

/// The address of one process.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The process.
    pub instance: Instance,
    /// `host:port`.
    pub address: String,
}

/// A response, read to its end.
#[derive(Debug, Clone)]
pub struct Response {
    /// The name of the request.
    pub request: String,
    /// The process that answered.
    pub instance: Instance,
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
    /// From before the request to the last byte.
    pub took: Duration,
}

impl Response {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns whether the service marked it as a replay.
    pub fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The part of a response that a replay must repeat byte for byte.
    pub fn stored_part(&self) -> (u16, [Option<&str>; 3], &[u8]) {
        (self.status, ["content-type", "etag", "location"].map(|name| self.header(name)), &self.body)
    }

    /// The body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The problem code; empty if the response is no problem.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// How long the client is asked to wait before it sends the request again.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    /// The pause before the same request is sent again, at least `shortest`; none if the response is final. The retry policy of
    /// docs/clients.md: a problem of the service says whether it is retryable, and any other refusal is a gateway's.
    pub fn pause_before_retry(&self, shortest: Duration) -> Option<Duration> {
        let is_of_gateway = || self.status >= 500 || matches!(self.status, 408 | 425 | 429);
        let asks = || {
            self.json()["retryable"]
                .as_bool()
                .unwrap_or_else(|| is_of_gateway() || self.header(RETRY_AFTER.as_str()).is_some())
        };
        (self.status >= 400 && asks()).then(|| self.retry_after().unwrap_or_default().max(shortest))
    }

    /// The body of a response with this status.
    pub fn read<T: DeserializeOwned>(&self, status: u16) -> Result<T> {
        if self.status != status {
            return Err(Error::unexpected(self, status));
        }
        let body = serde_json::from_slice(&self.body);
        body.map_err(|error| Error::unreadable(format!("the response to {}", self.request), error))
    }
}

/// An HTTP client with a bearer token. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    token: String,
}

impl Client {
    /// A client that keeps so many connections open. With 0, each request has a connection of its own.
    pub fn new(idle_connections: usize, token: String) -> Result<Self> {
        // reqwest asks for a provider even for plain HTTP. Another crate may have installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([])
            .redirect(Policy::none())
            .timeout(TIMEOUT)
            .pool_max_idle_per_host(idle_connections)
            // Below the services' keep-alive of 75 s, so that no request goes to a connection that its service closes at this moment.
            .pool_idle_timeout(Duration::from_secs(10))
            .build()
            .context("make an HTTP client")?;
        Ok(Self { http, token })
    }

    /// The bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Sends once. The processor gets a secret key of its own kind instead of the token, because it is another system.
    pub async fn send(&self, to: &Endpoint, request: &Request) -> reqwest::Result<Response> {
        let token = if request.part.is_service() { &self.token } else { "sk_test_harness" };
        let url = format!("http://{}{}", to.address, request.path);
        let mut sent = self.http.request(request.method.clone(), url).bearer_auth(token);
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
            if request.headers.iter().all(|(name, _)| *name != "Content-Type") {
                sent = sent.header("Content-Type", "application/json");
            }
        }
        if let Some(key) = &request.key {
            sent = sent.header("Idempotency-Key", key);
        }
        for (name, value) in &request.headers {
            sent = sent.header(*name, value);
        }
        let start = Instant::now();
        let response = sent.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await?.to_vec();
        Ok(Response {
            request: request.name(),
            instance: to.instance,
            status,
            headers,
            body,
            took: start.elapsed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_sent_again_if_the_problem_says_so_or_a_gateway_refused_it() {
        let shortest = Duration::from_millis(100);
        let pause = |status, retry_after: Option<&str>, body: &str| {
            let headers = retry_after.into_iter().map(|value| (RETRY_AFTER, value.parse().unwrap()));
            let instance = Part::ORDERS.instance(1);
            let (headers, body) = (headers.collect(), body.as_bytes().to_vec());
            let (request, took) = (String::new(), Duration::ZERO);
            Response { request, instance, status, headers, body, took }.pause_before_retry(shortest)
        };
        let (yes, no) = (r#"{"retryable":true}"#, r#"{"retryable":false}"#);
        for (status, retry_after, body) in
            [(408, None, yes), (422, None, yes), (502, None, "<h1>"), (425, None, "")]
        {
            assert_eq!(pause(status, retry_after, body), Some(shortest), "{status} {body}");
        }
        assert_eq!(pause(422, Some("2"), yes), Some(Duration::from_secs(2)));
        assert_eq!(pause(404, Some("Wed, 21 Oct 2026 07:28:00 GMT"), ""), Some(shortest));
        for (status, retry_after, body) in
            [(409, None, no), (500, None, no), (404, None, ""), (202, Some("1"), "{}")]
        {
            assert_eq!(pause(status, retry_after, body), None, "{status} {body}");
        }
    }
}
