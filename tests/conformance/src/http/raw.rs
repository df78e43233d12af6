//! `Connection`: a request as bytes on a socket. A case can send a part of it, or bytes that no library sends.

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{TIMEOUT, TOO_MANY_REQUESTS};
use super::{Request, Response};
use crate::case_error::{CaseError, CaseResult};

/// The most header lines of a response.
const HEADER_LINES: usize = 64;

/// A connection with one request, and the part of the request that is not written yet.
pub(crate) struct Connection {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(
        url: &Url,
        request: &Request,
        headers: &[(String, Vec<u8>)],
    ) -> CaseResult<Self> {
        let (address, host) = endpoint(url);
        let stream = TcpStream::connect(address).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let path = format!("{}{}", url.path().trim_end_matches('/'), request.path);
        let mut rest = format!("{} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n", request.method)
            .into_bytes();
        let has = |header: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header));
        let chunked = has("transfer-encoding");
        if !chunked && !has("content-length") {
            rest.extend(format!("Content-Length: {}\r\n", request.body.len()).into_bytes());
        }
        for (name, value) in headers {
            rest.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        rest.extend(b"\r\n");
        if chunked {
            rest.extend(in_chunks(&request.body));
        } else {
            rest.extend(&request.body);
        }
        Ok(Self { stream, rest })
    }

    /// Writes all but the last bytes.
    pub(crate) async fn hold_back(&mut self, bytes: usize) {
        let end = self.rest.len().saturating_sub(bytes);
        let held = self.rest.split_off(end);
        self.finish().await;
        self.rest = held;
    }

    /// Writes the rest of the request. An error is ignored, because the server may send its response before the request ends.
    pub(crate) async fn finish(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        let _ = self.stream.write_all(&rest).await;
    }

    /// Resets the connection when it is dropped. Otherwise the drop closes it, and a write of the server still succeeds.
    pub(crate) fn reset_on_drop(&self) -> CaseResult {
        self.stream.set_zero_linger().map_err(|error| failed(&error))
    }

    /// Ends the request without its rest, and waits until the server has closed the connection.
    pub(crate) async fn break_off(mut self) {
        let _ = self.stream.shutdown().await;
        let _ = tokio::time::timeout(TIMEOUT, self.stream.read_to_end(&mut Vec::new())).await;
    }

    /// Reads the response to its end: to its length, or to the end of the connection if the response names no length. A
    /// rate limit is an error, because the requests of a race cannot be sent again.
    pub(crate) async fn response(mut self) -> CaseResult<Response> {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(TIMEOUT, self.read_into(&mut bytes)).await;
        match read {
            Ok(Ok(Some(response))) if response.status == TOO_MANY_REQUESTS => {
                let text = "a rate limit refused a request with 429: raise it for the suite";
                return Err(CaseError::Failed(text.to_owned()));
            }
            Ok(Ok(Some(response))) => return Ok(response),
            Ok(Err(error)) if bytes.is_empty() => return Err(failed(&error)),
            _ => {}
        }
        let bytes = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        Err(CaseError::Failed(format!("no complete response, but {bytes:?}")))
    }

    async fn read_into(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<Option<Response>> {
        loop {
            let has_ended = self.stream.read_buf(bytes).await? == 0;
            let response = parse(bytes, has_ended);
            if has_ended || response.is_some() {
                return Ok(response);
            }
        }
    }
}

fn failed(error: &std::io::Error) -> CaseError {
    CaseError::Failed(format!("the connection failed: {error}"))
}

/// The address of a server, and its value of `Host`. An IPv6 address has brackets in `Host` only.
fn endpoint(url: &Url) -> ((&str, u16), String) {
    let host = url.host_str().unwrap_or_default();
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let named = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    ((name, url.port_or_known_default().unwrap_or(80)), named)
}

/// A body as `Transfer-Encoding: chunked` has it, in chunks of seven bytes.
fn in_chunks(body: &[u8]) -> Vec<u8> {
    let mut chunked = Vec::new();
    for chunk in body.chunks(7) {
        chunked.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        chunked.extend(chunk);
        chunked.extend(b"\r\n");
    }
    chunked.extend(b"0\r\n\r\n");
    chunked
}

/// Reads a response; `None` if it is not complete. Interim responses such as `100 Continue` come before it.
fn parse(bytes: &[u8], has_ended: bool) -> Option<Response> {
    let mut lines = [httparse::EMPTY_HEADER; HEADER_LINES];
    let mut head = httparse::Response::new(&mut lines);
    let httparse::Status::Complete(body_at) = head.parse(bytes).ok()? else { return None };
    let status = head.code?;
    if (100..200).contains(&status) {
        return parse(&bytes[body_at..], has_ended);
    }
    let mut headers = HeaderMap::new();
    for line in head.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(line.value).ok()?);
    }
    let body = &bytes[body_at..];
    let length = headers.get("content-length").and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let body = match length {
        Some(length) => body.get(..length)?.to_vec(),
        None if headers.contains_key("transfer-encoding") => from_chunks(body)?,
        None => has_ended.then(|| body.to_vec())?,
    };
    Some(Response { status, headers, body })
}

fn from_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let httparse::Status::Complete((at, length)) = httparse::parse_chunk_size(rest).ok()? else {
            return None;
        };
        let length = usize::try_from(length).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend(rest.get(at..at + length)?);
        rest = rest.get(at + length + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_has_the_port_and_the_brackets_of_the_url() {
        for (url, address, host) in [
            ("http://[::1]:8080/shop", ("::1", 8080), "[::1]:8080"),
            ("http://shop.test", ("shop.test", 80), "shop.test"),
        ] {
            assert_eq!(endpoint(&Url::parse(url).unwrap()), (address, host.to_owned()));
        }
    }

    #[test]
    fn an_interim_response_is_no_response() {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        assert!(parse(interim, false).is_none());
        let both = [&interim[..], b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"].concat();
        let response = parse(&both, false).unwrap();
        assert_eq!((response.status, &response.body[..]), (201, &b"{}"[..]));
    }
}
