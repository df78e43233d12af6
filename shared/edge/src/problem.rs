//! Errors that a person and a program can act on. Source of the format: RFC 9457.

use std::fmt;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use database::ErrorClass;
use idempotency::StoredResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::parse::ValidationError;

/// One entry of the catalogue in `docs/problems.md`.
#[derive(Debug, PartialEq, Eq)]
pub struct ProblemType {
    /// Stable; clients branch on it.
    pub code: &'static str,
    /// The HTTP status it comes with.
    pub status: u16,
    /// The same words each time.
    pub title: &'static str,
    /// Whether the same request, key included, may succeed later.
    pub retryable: bool,
}

/// Declares entries of the catalogue, and `ALL` of them.
#[macro_export]
macro_rules! problem_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal, $title:literal, retryable: $retryable:literal;)*) => {
        $($(#[$doc])* pub const $name: $crate::ProblemType =
            $crate::ProblemType { code: $code, status: $status, title: $title, retryable: $retryable };)*

        /// All of them.
        pub const ALL: &[&$crate::ProblemType] = &[$(&$name),*];
    };
}

/// The problems that every service has.
pub mod problem_types {
    crate::problem_types! {
        /// The body, a parameter or a header is not what the document says.
        REQUEST_INVALID = "request-invalid", 400, "The request is not valid", retryable: false;
        /// A command came without a key.
        KEY_MISSING = "idempotency-key-missing", 400, "The Idempotency-Key header is missing", retryable: false;
        /// The key is not of an accepted form.
        KEY_INVALID = "idempotency-key-invalid", 400, "The Idempotency-Key header is not valid", retryable: false;
        /// The first request with this key has not ended.
        KEY_IN_PROGRESS = "idempotency-key-in-progress", 409, "A request with this key is in progress", retryable: true;
        /// The key was used for another request.
        KEY_REUSED = "idempotency-key-reused", 409, "The key was used for another request", retryable: false;
        /// The key's answer has been erased.
        KEY_EXPIRED = "idempotency-key-expired", 409, "The key has expired", retryable: false;
        /// No token, or one that does not count.
        UNAUTHENTICATED = "unauthenticated", 401, "A valid bearer token is required", retryable: false;
        /// The token lacks a scope.
        FORBIDDEN = "forbidden", 403, "The token does not allow this", retryable: false;
        /// There is no such thing, or it is somebody else's.
        NOT_FOUND = "not-found", 404, "Not found", retryable: false;
        /// The path exists, the method does not.
        METHOD_NOT_ALLOWED = "method-not-allowed", 405, "The method is not allowed here", retryable: false;
        /// The body did not arrive in time.
        REQUEST_TIMEOUT = "request-timeout", 408, "The request took too long to arrive", retryable: true;
        /// The version is not one that If-Match names.
        PRECONDITION_FAILED = "precondition-failed", 412, "The version is another one", retryable: false;
        /// The body is larger than the limit.
        REQUEST_TOO_LARGE = "request-too-large", 413, "The request is too large", retryable: false;
        /// The body is not JSON.
        UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", 415, "The body must be application/json", retryable: false;
        /// The tenant sends more than it may.
        RATE_LIMITED = "rate-limited", 429, "Too many requests", retryable: true;
        /// A mistake of ours.
        INTERNAL = "internal-error", 500, "Something went wrong on our side", retryable: true;
        /// Nothing was done.
        UNAVAILABLE = "service-unavailable", 503, "The service cannot do this right now", retryable: true;
        /// Only a retry with the same key can tell.
        COMMIT_UNKNOWN = "commit-outcome-unknown", 503, "Whether it was done is not known yet", retryable: true;
    }
}

/// An answer that says what is wrong, where, and how to go on.
#[derive(Debug, Clone)]
pub struct Problem {
    kind: &'static ProblemType,
    status: u16,
    detail: String,
    errors: Vec<ValidationError>,
    retry_after: Option<u32>,
    allow: Option<String>,
}

/// A problem on the wire.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// Where the problem is explained.
    #[serde(rename = "type")]
    #[schema(examples("/problems/idempotency-key-reused"))]
    pub kind: String,
    /// The same words for each problem of this type.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong this time, and what to do about it.
    pub detail: String,
    /// Stable; branch on this.
    #[schema(examples("idempotency-key-reused"))]
    pub code: String,
    /// Whether the same request, key included, may succeed later.
    pub retryable: bool,
    /// What exactly is invalid, if the request was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ValidationError>,
}

impl Problem {
    /// A problem of this kind; `detail` says what happened and what to do.
    pub fn new(kind: &'static ProblemType, detail: impl Into<String>) -> Self {
        let retry_after = match kind.status {
            500 => None,
            // Whoever was turned away together does not come back together.
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
            allow: None,
        }
    }

    /// What exactly is invalid.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<ValidationError>) -> Self {
        self.errors = errors;
        self
    }

    /// The methods that a 405 allows instead.
    #[must_use]
    pub fn allowing(mut self, methods: String) -> Self {
        self.allow = Some(methods);
        self
    }

    /// Worth another attempt after this long: in whole seconds, none too early, and not all at once.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX - 2);
        self.retry_after = Some(seconds.saturating_add(1 + rand::random_range(0..=1)));
        self
    }

    /// With another status than the catalogue's, where a setting says so.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// There is no such thing, or it is somebody else's: the same answer for both.
    pub fn not_found(what: &str) -> Self {
        Self::new(&problem_types::NOT_FOUND, format!("There is no such {what}."))
    }

    /// Its place in the catalogue.
    pub fn kind(&self) -> &'static ProblemType {
        self.kind
    }

    fn body(&self) -> ProblemBody {
        ProblemBody {
            kind: format!("/problems/{}", self.kind.code),
            title: self.kind.title.to_owned(),
            status: self.status,
            detail: self.detail.clone(),
            code: self.kind.code.to_owned(),
            retryable: self.kind.retryable,
            errors: self.errors.clone(),
        }
    }

    /// The bytes, for an answer that is stored and replayed.
    pub fn receipt(&self) -> StoredResponse {
        let mut headers = vec![(CONTENT_TYPE.to_string(), MEDIA_TYPE.to_owned())];
        headers.extend(self.retry_after.map(|seconds| (RETRY_AFTER.to_string(), seconds.to_string())));
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        StoredResponse { status: self.status, headers, body }
    }
}

pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.code, self.detail)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if let Some(seconds) = self.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        if let Some(methods) = &self.allow {
            response.insert_header(("Allow", methods.as_str()));
        }
        if self.kind == &problem_types::UNAUTHENTICATED {
            response.insert_header(("WWW-Authenticate", "Bearer"));
        }
        response.content_type(MEDIA_TYPE).json(self.body())
    }
}

impl From<database::Error> for Problem {
    fn from(error: database::Error) -> Self {
        match error.class() {
            ErrorClass::Unavailable => {
                tracing::warn!(%error, "answered 503");
                Self::new(
                    &problem_types::UNAVAILABLE,
                    "The database cannot be reached; nothing was done. Send the same request again.",
                )
            }
            ErrorClass::Contention => {
                tracing::warn!(%error, "answered 503");
                Self::new(
                    &problem_types::UNAVAILABLE,
                    "Too many want the same thing at once; nothing was done. Send the same request again.",
                )
            }
            ErrorClass::CommitUnknown => {
                tracing::warn!(%error, "answered 503");
                let detail = "The connection was lost while the result was being stored. Send the same request with the same key: the answer tells.";
                Self::new(&problem_types::COMMIT_UNKNOWN, detail)
            }
            // The cause is for the log; a client learns nothing from it that it could act on.
            ErrorClass::Permanent => {
                tracing::error!(%error, "answered 500");
                Self::new(
                    &problem_types::INTERNAL,
                    "Nothing was done. The request may be sent again with the same key.",
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
