//! One HTTP connection in the hand: no pool, no retry, so that what is measured is what was sent.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::trouble::{Doing, Trouble};

/// A keep-alive connection to a service.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    _driver: JoinSet<()>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header as text; empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// What is wrong with it.
    pub(crate) fn unexpected(&self, request: &str) -> Trouble {
        let body = String::from_utf8_lossy(&self.body);
        Trouble::Refused(format!("{request} was answered with {}: {body}", self.status))
    }
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Result<Self, Trouble> {
        let stream = TcpStream::connect(address).await.doing(format!("connect to {address}"))?;
        stream.set_nodelay(true).doing("set TCP_NODELAY")?;
        let (sender, connection) =
            handshake(TokioIo::new(stream)).await.doing(format!("speak HTTP with {address}"))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Ok(Self { sender, address: address.to_owned(), _driver: driver })
    }

    pub(crate) async fn get(&mut self, path: &str, authorization: Option<&str>) -> Result<Answer, Trouble> {
        self.send(Method::GET, path, authorization, None, Bytes::new()).await
    }

    /// Sends JSON and reads the answer to its end.
    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        authorization: Option<&str>,
        key: Option<&str>,
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, &self.address);
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body)).doing(format!("make a request of {path}"))?;
        // The driver notices a moment later than we that an answer has ended.
        self.sender.ready().await.doing(format!("send again to {}", self.address))?;
        let answer = self.sender.send_request(request).await.doing(format!("ask for {path}"))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.doing(format!("read the answer to {path}"))?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}
