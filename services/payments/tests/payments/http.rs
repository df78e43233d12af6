//! A small HTTP/1.1 server for form requests and JSON responses. The test decides what happens to each request.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request, read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) method: String,
    /// Without its query.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    /// `None` if the connection ends before the request does.
    pub(crate) async fn read(socket: &mut TcpStream) -> Option<Self> {
        let mut bytes = Vec::new();
        let head_end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            (socket.read_buf(&mut bytes).await.ok()? > 0).then_some(())?;
        };
        let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap().split(' ').map(str::to_owned);
        let (method, target) = (first.next().unwrap(), first.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let (path, query) = (path.to_owned(), serde_urlencoded::from_str(query).unwrap());
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut received = Self { method, path, query, headers, body: bytes[head_end + 4..].to_vec() };
        let length = received.header("content-length").map_or(0, |length| length.parse().unwrap());
        while received.body.len() < length {
            (socket.read_buf(&mut received.body).await.ok()? > 0).then_some(())?;
        }
        Some(received)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn key(&self) -> &str {
        self.header("idempotency-key").unwrap()
    }

    /// A parameter of the query.
    pub(crate) fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// A parameter of the form.
    pub(crate) fn parameter(&self, name: &str) -> String {
        let form: Vec<(String, String)> = serde_urlencoded::from_bytes(&self.body).unwrap();
        form.into_iter().find(|(given, _)| given == name).unwrap().1
    }
}

/// Sends a response and closes the connection.
pub(crate) async fn respond(socket: &mut TcpStream, status: u16, headers: &str, body: &str) {
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n");
    // A client that has given up does not listen any more.
    let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
}
