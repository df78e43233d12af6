//! Every no of the processor, in the words and the shape of its protocol: clients branch on `type` and `code`.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::keys::Answer;
use crate::operations::cards::Decline;

/// Why a request got no object.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The processor's own, deliberate answer. Once an operation has begun, it is stored under the key like a success.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The books did not answer. Nothing is stored: the retry runs afresh, or reads what was committed after all.
    #[error(transparent)]
    Books(#[from] database::Error),
}

impl From<diesel::result::Error> for Failure {
    fn from(error: diesel::result::Error) -> Self {
        Self::Books(error.into())
    }
}

impl ResponseError for Failure {
    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Refused(refusal) => refusal.error_response(),
            Self::Books(error) => {
                tracing::error!(%error, "the books could not be used");
                let status = match error.class() {
                    database::ErrorClass::Unavailable | database::ErrorClass::Contention => {
                        StatusCode::SERVICE_UNAVAILABLE
                    }
                    database::ErrorClass::CommitUnknown | database::ErrorClass::Permanent => {
                        StatusCode::INTERNAL_SERVER_ERROR
                    }
                };
                let message = "The books could not be used, so nothing is known about this request. Send it again \
                               with the same Idempotency-Key.";
                Refusal::new(status, "api_error", message).error_response()
            }
        }
    }
}

/// `{"error": {…}}`, with its status.
#[derive(Debug, Error)]
#[error("{}", error.message)]
pub(crate) struct Refusal {
    status: StatusCode,
    error: Box<Body>,
}

#[derive(Debug, Serialize)]
struct Body {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<String>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_log_url: Option<String>,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let error = Body {
            r#type: kind,
            code: None,
            decline_code: None,
            message: message.into(),
            param: None,
            charge: None,
            payment_intent: None,
            doc_url: None,
            request_log_url: None,
        };
        Self { status, error: Box::new(error) }
    }

    /// 400: the request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// 400: a parameter that must be there is not.
    pub(crate) fn missing(param: &str) -> Self {
        Self::invalid(format!("Missing required param: {param}.")).code("parameter_missing").param(param)
    }

    /// 400: a parameter that this route does not have.
    pub(crate) fn unknown(param: &str) -> Self {
        Self::invalid(format!("Received unknown parameter: {param}")).code("parameter_unknown").param(param)
    }

    /// 400: a parameter names something that does not exist.
    pub(crate) fn no_such(object: &str, id: &str, param: &str) -> Self {
        Self::invalid(format!("No such {object}: '{id}'")).code("resource_missing").param(param)
    }

    /// 404: what the request is about does not exist.
    pub(crate) fn not_found(object: &str, id: &str, param: &str) -> Self {
        Self { status: StatusCode::NOT_FOUND, ..Self::no_such(object, id, param) }
    }

    /// 404: no such route.
    pub(crate) fn unrecognized(method: &str, path: &str) -> Self {
        let message = format!("Unrecognized request URL ({method}: {path}).");
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", message)
    }

    /// 400: the intent's state does not allow it.
    pub(crate) fn unexpected_state(message: impl Into<String>, intent: Option<Value>) -> Self {
        let mut refusal = Self::invalid(message).code("payment_intent_unexpected_state");
        refusal.error.payment_intent = intent;
        refusal
    }

    /// 402: the card's bank said no. `charge` is the attempt, if the card was asked at all.
    pub(crate) fn declined(decline: Decline, charge: Option<&str>, intent: Value) -> Self {
        let mut refusal =
            Self::new(StatusCode::PAYMENT_REQUIRED, "card_error", decline.message()).code(decline.code);
        refusal.error.decline_code = decline.decline_code.map(str::to_owned);
        refusal.error.charge = charge.map(str::to_owned);
        refusal.error.payment_intent = Some(intent);
        refusal
    }

    /// 401: no API key, or not one of the test keys.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", message)
    }

    /// 400: the key was used with another request.
    pub(crate) fn key_reused(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "idempotency_error", message)
    }

    /// 409: the first request under the key has not ended.
    pub(crate) fn key_in_use(key: &str) -> Self {
        let message = format!(
            "There is currently another in-progress request using this Idempotent Key (that probably means you \
             submitted twice, and the other request is still going through): {key}. Please try again later."
        );
        Self::new(StatusCode::CONFLICT, "idempotency_error", message).code("idempotency_key_in_use")
    }

    /// 413: more than any request of this protocol needs.
    pub(crate) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request_error", "The request body is too large.")
    }

    /// 429: too many requests, as a test wants it.
    pub(crate) fn too_many() -> Self {
        let message = "Request rate limit exceeded, as /_faults asked. Nothing was executed.";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "invalid_request_error", message).code("rate_limit")
    }

    /// 409 without a key that is in use, as a test wants it.
    pub(crate) fn conflict() -> Self {
        let message = "There is currently another in-progress request using this Idempotent Key, as /_faults asked. \
                       Nothing was executed.";
        Self::new(StatusCode::CONFLICT, "idempotency_error", message).code("idempotency_key_in_use")
    }

    /// 500: something went wrong, and the answer does not say how far the request had come.
    pub(crate) fn internal() -> Self {
        let message = "An unknown error occurred, as /_faults asked.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", message)
    }

    /// 503: the outage that a test asked for, or books that are not open yet.
    pub(crate) fn unavailable(message: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", message)
    }

    /// Names the kind of error more closely.
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.error.code = Some(code);
        self.error.doc_url = Some(format!("https://stripe.com/docs/error-codes/{}", code.replace('_', "-")));
        self
    }

    /// Names the parameter that is wrong.
    pub(crate) fn param(mut self, param: &str) -> Self {
        self.error.param = Some(param.to_owned());
        self
    }
}

impl Refusal {
    /// Where the real processor would show the request that was refused.
    pub(crate) fn logged_as(mut self, request_id: &str) -> Self {
        self.error.request_log_url = Some(format!("https://dashboard.stripe.com/test/logs/{request_id}"));
        self
    }
}

impl From<&Refusal> for Answer {
    fn from(refusal: &Refusal) -> Self {
        Self::new(refusal.status, &json!({ "error": refusal.error }))
    }
}

impl ResponseError for Refusal {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        Answer::from(self).into_response()
    }
}
