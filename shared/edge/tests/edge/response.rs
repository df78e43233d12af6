//! A complete response, and the format that every problem must have.

use reqwest::Response;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A problem whose format has been checked.
#[derive(Debug)]
pub(crate) struct ParsedProblem {
    pub(crate) code: String,
    pub(crate) detail: String,
    pub(crate) retryable: bool,
    pub(crate) pointers: Vec<String>,
}

impl TestResponse {
    pub(crate) async fn read(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }

    /// Parses the bytes of a connection that the server has closed.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no response: {:?}", String::from_utf8_lossy(bytes)));
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            headers.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        Self { status, headers, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// Returns whether the response is marked as a replay. Panics if its headers contradict each other.
    pub(crate) fn is_replay(&self) -> bool {
        let replayed = self.header("idempotent-replayed") == Some("true");
        let marked =
            [self.header("idempotency-status"), self.header("idempotency-original-date").map(|_| "dated")];
        assert_eq!(replayed, marked == [Some("replayed"), Some("dated")], "{self:?}");
        replayed
    }

    /// Panics unless this is the 201 of a first execution.
    #[track_caller]
    pub(crate) fn assert_placed(&self) {
        assert_eq!((self.status, self.header("idempotency-status")), (201, Some("executed")), "{self:?}");
        assert_eq!(self.header("idempotent-replayed"), None);
    }

    /// Panics unless this is a replay of `first`, byte for byte.
    #[track_caller]
    pub(crate) fn assert_replays(&self, first: &Self) {
        assert!(self.is_replay(), "{self:?}");
        assert_eq!((self.status, &self.body), (first.status, &first.body));
        for name in ["content-type", "location", "etag", "retry-after"] {
            assert_eq!(self.headers.get(name), first.headers.get(name), "{name}");
        }
    }

    /// The body without the id of its request, so that the responses to two requests can be compared.
    pub(crate) fn without_id(&self) -> Value {
        let mut body = self.json();
        body.as_object_mut().unwrap().remove("request_id");
        body
    }

    /// Returns the problem. Panics if its format is wrong or it contains internals.
    #[track_caller]
    pub(crate) fn problem(&self) -> ParsedProblem {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        let text =
            |member: &str| body[member].as_str().unwrap_or_else(|| panic!("no {member}: {body}")).to_owned();
        let code = text("code");
        assert_eq!(text("type"), format!("/problems/{code}"));
        let link = format!("</problems/{code}>; rel=\"describedby\"");
        assert_eq!(self.header("link"), Some(link.as_str()));
        assert_eq!(body["status"], self.status);
        assert!(!text("title").is_empty() && !text("detail").is_empty(), "{body}");
        let known = ["type", "title", "status", "detail", "code", "retryable", "errors", "request_id"];
        assert!(body.as_object().unwrap().keys().all(|member| known.contains(&member.as_str())), "{body}");
        // The request that got it, where the response is its own.
        let id = &body["request_id"];
        assert!(id.is_null() || id.as_str() == self.header("x-request-id"), "{self:?}");
        // A problem contains no SQL, no names of types or files, and no secret.
        let whole = String::from_utf8(self.body.clone()).unwrap().to_lowercase();
        for inside in
            ["canary", "select", "insert", "diesel", "postgres://", "::", ".rs", "panick", "bearer ey"]
        {
            assert!(!whole.contains(inside), "{inside} in {whole}");
        }
        let errors = body["errors"].as_array().cloned().unwrap_or_default();
        let pointers = errors.iter().map(|error| {
            assert!(!error["detail"].as_str().unwrap().is_empty(), "{body}");
            error["pointer"].as_str().unwrap().to_owned()
        });
        let retryable = body["retryable"].as_bool().unwrap();
        ParsedProblem { pointers: pointers.collect(), detail: text("detail"), retryable, code }
    }

    /// Expects this status and code. `retryable` must agree with `Retry-After`.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) -> ParsedProblem {
        let problem = self.problem();
        assert_eq!((self.status, problem.code.as_str()), (status, code), "{self:?}");
        if status == 500 {
            return problem;
        }
        assert_eq!(self.header("retry-after").is_some(), problem.retryable, "{self:?}");
        if problem.retryable {
            let seconds: u32 = self.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=60).contains(&seconds), "{self:?}");
        }
        problem
    }
}
