//! The success of a command, as the bytes that are stored and sent.

use actix_web::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use idempotency::StoredResponse;
use serde::Serialize;

use crate::conditional::entity_tag;

/// What a command that succeeded answers.
#[derive(Debug, Clone)]
#[must_use]
pub struct Reply(StoredResponse);

impl Reply {
    /// 201, with where the new thing is.
    pub fn created(location: impl Into<String>, body: &impl Serialize) -> Self {
        Self::json(201, body).with(LOCATION.as_str(), location.into())
    }

    /// 200.
    pub fn ok(body: &impl Serialize) -> Self {
        Self::json(200, body)
    }

    /// With the entity's version.
    pub fn version(self, version: i64) -> Self {
        self.with(ETAG.as_str(), entity_tag(version))
    }

    fn json(status: u16, body: &impl Serialize) -> Self {
        // A view of our own always becomes JSON; if ever one does not, the answer says so instead of nothing.
        let (status, body) = serde_json::to_vec(body).map_or((500, Vec::new()), |body| (status, body));
        let headers = vec![(CONTENT_TYPE.to_string(), "application/json".to_owned())];
        Self(StoredResponse { status, headers, body })
    }

    fn with(mut self, name: &str, value: String) -> Self {
        self.0.headers.push((name.to_owned(), value));
        self
    }
}

impl From<Reply> for StoredResponse {
    fn from(reply: Reply) -> Self {
        reply.0
    }
}
