//! `Reply`: the response of a command that succeeded.
//!
//! A reply that cannot be serialised, or is too large, fails the command: the executor rolls back, and nothing is stored.

use actix_web::http::header::{CONTENT_TYPE, ETAG, LOCATION};
use database::Error;
use diesel::result::Error::SerializationError;
use idempotency::StoredResponse;
use serde::Serialize;

use crate::conditional::entity_tag;

/// The largest body in bytes. Each reply is stored for a day, and read into memory for each replay.
const MAX_BODY: usize = 256 * 1024;

/// The response of a command that succeeded: status, headers, and a JSON body or the error of its serialisation.
#[derive(Debug)]
#[must_use]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Result<Vec<u8>, serde_json::Error>,
}

impl Reply {
    /// 201 with the location of the new resource.
    pub fn created(location: impl Into<String>, body: &impl Serialize) -> Self {
        Self::json(201, body).with_header(LOCATION.as_str(), location.into())
    }

    /// 200.
    pub fn ok(body: &impl Serialize) -> Self {
        Self::json(200, body)
    }

    /// Adds the `ETag` of the resource's version.
    pub fn version(self, version: i64) -> Self {
        self.with_header(ETAG.as_str(), entity_tag(version))
    }

    /// The response to store.
    ///
    /// # Errors
    /// The body could not be serialised, or is larger than 256 KiB.
    pub fn stored_response(self) -> Result<StoredResponse, Error> {
        let Self { status, headers, body } = self;
        let body = body.map_err(|error| SerializationError(Box::new(error)))?;
        if body.len() > MAX_BODY {
            let error = format!("the reply has {} bytes, and at most {MAX_BODY} are stored", body.len());
            return Err(SerializationError(error.into()).into());
        }
        Ok(StoredResponse { status, headers, body })
    }

    fn json(status: u16, body: &impl Serialize) -> Self {
        let headers = vec![(CONTENT_TYPE.to_string(), "application/json".to_owned())];
        Self { status, headers, body: serde_json::to_vec(body) }
    }

    fn with_header(mut self, name: &str, value: String) -> Self {
        self.headers.push((name.to_owned(), value));
        self
    }
}
