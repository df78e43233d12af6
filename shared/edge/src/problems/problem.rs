//! `Problem`: an error response (RFC 9457) with a stable code for programs and an explanation for people.

use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{ALLOW, CONTENT_TYPE, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use actix_web::{HttpResponse, ResponseError};
use database::ErrorClass;
use idempotency::StoredResponse;
use serde::Serialize;

use super::validation::ValidationError;

/// One entry of the catalogue in `docs/problems.md`.
#[derive(Debug, PartialEq, Eq)]
pub struct ProblemType {
    /// Stable, so that clients can branch on it.
    pub code: &'static str,
    /// The HTTP status of the response.
    pub status: u16,
    /// The same text for every problem of this type.
    pub title: &'static str,
    /// Whether the same request with the same key may succeed later.
    pub retryable: bool,
}

/// Declares entries of the catalogue, and `ALL` of them.
#[macro_export]
macro_rules! problem_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal, $title:literal, retryable: $retryable:literal;)*) => {
        $($(#[$doc])* pub const $name: $crate::ProblemType =
            $crate::ProblemType { code: $code, status: $status, title: $title, retryable: $retryable };)*

        /// All entries.
        pub const ALL: &[&$crate::ProblemType] = &[$(&$name),*];
    };
}

/// The problems that every service can return.
pub mod problem_types {
    crate::problem_types! {
        /// The body, a parameter or a header is not valid.
        REQUEST_INVALID = "request-invalid", 400, "The request is not valid", retryable: false;
        /// A command has no key.
        KEY_MISSING = "idempotency-key-missing", 400, "The Idempotency-Key header is missing", retryable: false;
        /// The key does not have an accepted form.
        KEY_INVALID = "idempotency-key-invalid", 400, "The Idempotency-Key header is not valid", retryable: false;
        /// The first request with this key is still in progress.
        KEY_IN_PROGRESS = "idempotency-key-in-progress", 409, "A request with this key is in progress", retryable: true;
        /// The key was used for another request.
        KEY_REUSED = "idempotency-key-reused", 409, "The key was used for another request", retryable: false;
        /// The key's response has been erased.
        KEY_EXPIRED = "idempotency-key-expired", 409, "The key has expired", retryable: false;
        /// The key was fenced before its command arrived.
        KEY_FENCED = "idempotency-key-fenced", 409, "The key is fenced", retryable: false;
        /// The token is missing or not valid.
        UNAUTHENTICATED = "unauthenticated", 401, "A valid bearer token is required", retryable: false;
        /// The token lacks a scope.
        FORBIDDEN = "forbidden", 403, "The token does not allow this", retryable: false;
        /// The resource does not exist, or belongs to another tenant.
        NOT_FOUND = "not-found", 404, "Not found", retryable: false;
        /// The path exists, the method does not.
        METHOD_NOT_ALLOWED = "method-not-allowed", 405, "The method is not allowed here", retryable: false;
        /// The body did not arrive in time.
        REQUEST_TIMEOUT = "request-timeout", 408, "The request took too long to arrive", retryable: true;
        /// The resource has a version that If-Match does not name.
        PRECONDITION_FAILED = "precondition-failed", 412, "The version has changed", retryable: false;
        /// The body is larger than the limit.
        REQUEST_TOO_LARGE = "request-too-large", 413, "The request is too large", retryable: false;
        /// The body is not JSON.
        UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", 415, "The body must be application/json", retryable: false;
        /// The tenant has reached its rate limit.
        RATE_LIMITED = "rate-limited", 429, "Too many requests", retryable: true;
        /// A defect on our side.
        INTERNAL = "internal-error", 500, "Something went wrong on our side", retryable: true;
        /// This request was not executed.
        UNAVAILABLE = "service-unavailable", 503, "The service cannot do this right now", retryable: true;
        /// Only a retry with the same key finds the outcome.
        COMMIT_UNKNOWN = "commit-outcome-unknown", 503, "The outcome of the request is not known yet", retryable: true;
    }
}

/// An error response: what is wrong, where, and what the client can do.
#[derive(Debug, Clone)]
pub struct Problem {
    kind: &'static ProblemType,
    status: u16,
    /// The fault and its remedy, as a text for people.
    pub(crate) detail: String,
    errors: Vec<ValidationError>,
    retry_after: Option<u32>,
    /// What the request needs: `Allow` of a 405, `WWW-Authenticate` of a 401 and a 403.
    required: Option<String>,
}

/// A problem as JSON. `problem_components.rs` describes its members.
#[derive(Serialize)]
struct ProblemBody<'p> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'p str,
    code: &'static str,
    retryable: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'p [ValidationError],
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'p str>,
}

impl Problem {
    /// A problem of this type. `detail` says what happened and what the client can do.
    pub fn new(kind: &'static ProblemType, detail: impl Into<String>) -> Self {
        let retry_after = match kind.status {
            500 => None,
            // Random, so that clients that were refused at the same time do not retry at the same time.
            503 => Some(1 + rand::random_range(0..=1)),
            _ => Some(1),
        };
        let retry_after = retry_after.filter(|_| kind.retryable);
        Self {
            kind,
            status: kind.status,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after,
            required: None,
        }
    }

    /// Adds the errors of an invalid request.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<ValidationError>) -> Self {
        self.errors = errors;
        self
    }

    /// Adds the methods that the path allows, for a 405.
    #[must_use]
    pub fn allowing(mut self, methods: String) -> Self {
        self.required = Some(methods);
        self
    }

    /// Says which credentials are needed (RFC 6750, section 3), for a 401 and a 403. `parameters` follow `Bearer`.
    #[must_use]
    pub(crate) fn challenging(mut self, parameters: &str) -> Self {
        self.required = Some(format!("Bearer{parameters}"));
        self
    }

    /// Sets `Retry-After` to the next whole second after `wait`, plus a random second: no retry comes too early, and not
    /// all come at the same time.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX - 2);
        self.retry_after = Some(seconds.saturating_add(1 + rand::random_range(0..=1)));
        self
    }

    /// Replaces the catalogue's status, where a setting says so.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Says that the problem tells nothing about an earlier request with the same key. Nothing of this request was compared
    /// with the record of its key.
    #[must_use]
    pub(crate) fn about_this_request_only(mut self) -> Self {
        self.detail += " This request was not executed; an earlier request with the same key is unaffected.";
        self
    }

    /// 404, both for a resource that does not exist and for another tenant's resource.
    pub fn not_found(what: &str) -> Self {
        Self::new(&problem_types::NOT_FOUND, format!("There is no such {what}."))
    }

    /// The problem's entry in the catalogue.
    pub fn kind(&self) -> &'static ProblemType {
        self.kind
    }

    /// The path of the explanation.
    fn path(&self) -> String {
        format!("/problems/{}", self.kind.code)
    }

    /// The header that names the explanation, as the IETF draft asks for (section 2.7).
    fn link(&self) -> String {
        format!("<{}>; rel=\"describedby\"", self.path())
    }

    /// The body of the response. The id of the request is not in a stored one, because each retry gets the same bytes.
    pub(crate) fn body(&self, request_id: Option<&str>) -> Vec<u8> {
        json_bytes(&ProblemBody {
            kind: self.path(),
            title: self.kind.title,
            status: self.status,
            detail: &self.detail,
            code: self.kind.code,
            retryable: self.kind.retryable,
            errors: &self.errors,
            request_id,
        })
    }

    /// The problem as a response that can be stored and replayed.
    pub fn stored_response(&self) -> StoredResponse {
        let mut headers =
            vec![(CONTENT_TYPE.to_string(), MEDIA_TYPE.to_owned()), (LINK.to_string(), self.link())];
        headers.extend(self.retry_after.map(|seconds| (RETRY_AFTER.to_string(), seconds.to_string())));
        StoredResponse { status: self.status, headers, body: self.body(None) }
    }
}

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Serialises a document of strings, numbers, booleans and lists, which cannot fail. A panic here would roll the command
/// back, so that no empty body is stored.
pub(crate) fn json_bytes(document: &impl Serialize) -> Vec<u8> {
    match serde_json::to_vec(document) {
        Ok(bytes) => bytes,
        Err(error) => unreachable!("a document of plain members was not serialised: {error}"),
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        // Every status is a literal of a catalogue, or 409 or 422 by a checked setting. All of them are valid.
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        if let Some(required) = &self.required {
            let name = if self.status == 405 { ALLOW } else { WWW_AUTHENTICATE };
            response.insert_header((name, required.as_str()));
        }
        response.insert_header((LINK, self.link()));
        response.content_type(MEDIA_TYPE).body(self.body(None))
    }
}

impl From<database::Error> for Problem {
    fn from(error: database::Error) -> Self {
        match error.class() {
            ErrorClass::Unavailable => {
                tracing::warn!(%error, "the database is unavailable; responding 503");
                Self::new(
                    &problem_types::UNAVAILABLE,
                    "The database is not available. This request was not executed; send the same request again.",
                )
            }
            ErrorClass::Contention => {
                tracing::warn!(%error, "contention after several attempts; responding 503");
                Self::new(
                    &problem_types::UNAVAILABLE,
                    "Too many requests change the same data at the same time. This request was not executed; send the same request again.",
                )
            }
            ErrorClass::CommitUnknown => {
                tracing::warn!(%error, "the outcome of COMMIT is unknown; responding 503");
                let detail = "The connection to the database was lost during the commit, so the request may have been carried out. Send the same request with the same key to get its outcome.";
                Self::new(&problem_types::COMMIT_UNKNOWN, detail)
            }
            // The cause goes to the log only, because a client cannot act on it.
            ErrorClass::Permanent | ErrorClass::Unclassified => {
                tracing::error!(%error, "the database failed; responding 500");
                Self::new(
                    &problem_types::INTERNAL,
                    "The request failed on our side. This request was not executed; the same request may be sent again with the same key.",
                )
            }
        }
    }
}

impl From<diesel::result::Error> for Problem {
    fn from(error: diesel::result::Error) -> Self {
        database::Error::from(error).into()
    }
}
