//! One HTTP connection, without pool, redirect or retry, so that each request is sent exactly once.

use std::time::Instant;

use harness::{Context, Endpoint, Request, Response, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A keep-alive connection to a service, with a bearer token.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    endpoint: Endpoint,
    authorization: String,
    _driver: JoinSet<()>,
}

impl Connection {
    pub(crate) async fn open(endpoint: Endpoint, token: &str) -> Result<Self> {
        let address = &endpoint.address;
        let stream = TcpStream::connect(address).await.context(format!("connect to {address}"))?;
        stream.set_nodelay(true).context("set TCP_NODELAY")?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.context(format!("speak HTTP with {address}"))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Ok(Self { sender, endpoint, authorization: format!("Bearer {token}"), _driver: driver })
    }

    /// Sends a request and reads the response to its end. The request's own headers replace token and content type.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<Response> {
        let mut sent = hyper::Request::builder()
            .method(request.method.clone())
            .uri(&request.path)
            .header(HOST, &self.endpoint.address);
        for (name, value) in &request.headers {
            sent = sent.header(*name, value);
        }
        let is_given = |name: HeaderName| request.headers.iter().any(|(given, _)| name == *given);
        if !is_given(AUTHORIZATION) {
            sent = sent.header(AUTHORIZATION, &self.authorization);
        }
        if let Some(key) = &request.key {
            sent = sent.header("Idempotency-Key", key);
        }
        if request.body.is_some() && !is_given(CONTENT_TYPE) {
            sent = sent.header(CONTENT_TYPE, "application/json");
        }
        let body = Bytes::from(request.body.clone().unwrap_or_default());
        let sent = sent.body(Full::new(body)).context("make a request")?;
        // The driver notices the end of a response a moment later than the reader.
        let again = || format!("send {} on a connection that was used before", request.name());
        self.sender.ready().await.context(again())?;
        let start = Instant::now();
        let response = self.sender.send_request(sent).await.context("send a request")?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.context("read a response")?.to_bytes().to_vec();
        Ok(Response {
            request: request.name(),
            instance: self.endpoint.instance,
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            took: start.elapsed(),
        })
    }
}
