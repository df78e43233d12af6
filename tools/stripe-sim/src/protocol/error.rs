//! Errors, in the form of Stripe's API. Clients branch on `type` and `code`.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::keys::Response;
use crate::operations::cards::Decline;

/// A request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// An error object for the client. After the parameters are read, it is stored under the key like a success.
    #[error("{0}")]
    Api(#[from] ApiError),
    /// The database failed. Nothing is stored: a retry executes again, or reads the response if the commit took effect.
    #[error(transparent)]
    Database(#[from] database::Error),
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        Self::Database(error.into())
    }
}

impl ResponseError for Error {
    fn error_response(&self) -> HttpResponse {
        match self {
            Self::Api(error) => error.error_response(),
            Self::Database(error) => {
                tracing::error!(%error, "the database failed");
                let status = match error.class() {
                    database::ErrorClass::Unavailable | database::ErrorClass::Contention => {
                        StatusCode::SERVICE_UNAVAILABLE
                    }
                    database::ErrorClass::CommitUnknown
                    | database::ErrorClass::Permanent
                    | database::ErrorClass::Unclassified => StatusCode::INTERNAL_SERVER_ERROR,
                };
                let message = "The database failed, and the outcome of this request is unknown. Send it again \
                               with the same Idempotency-Key.";
                ApiError::new(status, "api_error", message).error_response()
            }
        }
    }
}

/// `{"error": {…}}`, with its HTTP status.
#[derive(Debug, thiserror::Error)]
#[error("{}", error.message)]
pub(crate) struct ApiError {
    status: StatusCode,
    error: Box<Body>,
}

#[derive(Debug, Default, Serialize)]
struct Body {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_code: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    param: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charge: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_intent: Option<Value>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let error = Body { r#type: kind, message: message.into(), ..Body::default() };
        Self { status, error: Box::new(error) }
    }

    /// 400: the request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// 400: a required parameter is missing.
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

    /// 404: the object of the request does not exist.
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
        let mut error = Self::invalid(message).code("payment_intent_unexpected_state");
        error.error.payment_intent = intent;
        error
    }

    /// 402: the card was declined. `charge` is the failed attempt.
    pub(crate) fn declined(decline: Decline, charge: &str, intent: Value) -> Self {
        let mut error =
            Self::new(StatusCode::PAYMENT_REQUIRED, "card_error", decline.message()).code(decline.code());
        error.error.decline_code = Some(decline.decline_code());
        error.error.charge = Some(charge.to_owned());
        error.error.payment_intent = Some(intent);
        error
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

    /// 413: the body is longer than any request of this API needs.
    pub(crate) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request_error", "The request body is too large.")
    }

    /// 429, as a fault asks for it.
    pub(crate) fn too_many() -> Self {
        let message = "Request rate limit exceeded, as /_faults asked. Nothing was executed.";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "invalid_request_error", message).code("rate_limit")
    }

    /// 409, as a fault asks for it. No key is in use.
    pub(crate) fn conflict() -> Self {
        let message = "There is currently another in-progress request using this Idempotent Key, as /_faults asked. \
                       Nothing was executed.";
        Self::new(StatusCode::CONFLICT, "idempotency_error", message).code("idempotency_key_in_use")
    }

    /// 400, as a fault asks for it: the account's balance does not cover the refund.
    pub(crate) fn balance_insufficient() -> Self {
        let message = "Insufficient funds in your balance to refund this amount, as /_faults asked.";
        Self::invalid(message).code("balance_insufficient")
    }

    /// 500. The response does not say whether the request took effect.
    pub(crate) fn internal() -> Self {
        let message = "An unknown error occurred, as /_faults asked.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "api_error", message)
    }

    /// 503, as a fault asks for it.
    pub(crate) fn unavailable() -> Self {
        let message = "An outage was asked for on /_faults. Nothing was executed.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "api_error", message)
    }

    /// Adds the error code.
    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.error.code = Some(code);
        self
    }

    /// Adds the name of the wrong parameter.
    pub(crate) fn param(mut self, param: &str) -> Self {
        self.error.param = Some(param.to_owned());
        self
    }
}

impl From<&ApiError> for Response {
    fn from(error: &ApiError) -> Self {
        Self::new(error.status, &json!({ "error": error.error }))
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        Response::from(self).into_http()
    }
}
