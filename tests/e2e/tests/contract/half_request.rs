//! A request whose body never comes.

use std::time::Instant;

use harness::{Client, Endpoint, Request, Response};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends the head of a request. Returns the response when the service has closed the connection.
pub(crate) async fn send(client: &Client, to: &Endpoint, request: &Request) -> Response {
    let length = request.body.as_ref().map_or(0, String::len);
    let mut head = format!(
        "{} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\n",
        request.method,
        request.path,
        to.address,
        client.token(),
    );
    let key = request.key.iter().map(|key| ("Idempotency-Key", key));
    let lines = request.headers.iter().map(|(name, value)| (*name, value)).chain(key);
    head.extend(lines.flat_map(|(name, value)| [name, ": ", value, "\r\n"]));
    let start = Instant::now();
    let mut stream = TcpStream::connect(&to.address).await.unwrap();
    stream.write_all((head + "\r\n").as_bytes()).await.unwrap();
    let mut received = Vec::new();
    stream.read_to_end(&mut received).await.unwrap();
    let mut lines = [httparse::EMPTY_HEADER; 32];
    let mut parsed = httparse::Response::new(&mut lines);
    let length = parsed.parse(&received).unwrap().unwrap();
    let headers = parsed
        .headers
        .iter()
        .map(|line| (line.name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(line.value).unwrap()));
    Response {
        request: request.name(),
        instance: to.instance,
        status: parsed.code.unwrap(),
        headers: headers.collect::<HeaderMap>(),
        body: received[length..].to_vec(),
        took: start.elapsed(),
    }
}
