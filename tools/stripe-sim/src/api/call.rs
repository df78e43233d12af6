//! Extracts a POST request: its form parameters, and its Idempotency-Key.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use actix_web::{FromRequest, HttpMessage, HttpRequest, error, web};

use crate::keys::RequestKey;
use crate::processor::RequestContext;
use crate::protocol::{ApiError, Form};

/// The longest body, in bytes. No request of this API needs as much.
pub(super) const MAX_BODY: usize = 64 * 1024;

/// The argument of handlers that change something.
pub(crate) struct Call {
    pub(crate) form: Form,
    pub(crate) context: RequestContext,
}

impl FromRequest for Call {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, actix_web::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            if is_too_large(request.headers()) {
                return Err(ApiError::too_large().into());
            }
            let body = web::Payload::from_request(&request, &mut payload)
                .await?
                .to_bytes_limited(MAX_BODY)
                .await
                .map_err(|_| ApiError::too_large())?
                .map_err(error::ErrorBadRequest)?;
            if !body.is_empty() && !is_form(&request) {
                let message = "Invalid request (check that your POST content type is \
                               application/x-www-form-urlencoded).";
                return Err(ApiError::invalid(message).into());
            }
            let form = Form::parse(&body)?;
            let key = key(&request)?.map(|key| RequestKey::new(&key, request.path(), &form)).transpose()?;
            // The middleware has set the rest.
            let context = request.extensions().get::<RequestContext>().cloned().unwrap_or_default();
            Ok(Self { form, context: RequestContext { key, ..context } })
        })
    }
}

/// Returns whether the client announces a body that is too long. Such a body is not read.
pub(super) fn is_too_large(headers: &HeaderMap) -> bool {
    let announced =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    announced.is_some_and(|length| length > MAX_BODY)
}

fn is_form(request: &HttpRequest) -> bool {
    let value = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The Idempotency-Key, if there is one. Two of them are an error.
fn key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let mut keys = request.headers().get_all("idempotency-key");
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(ApiError::invalid("Send Idempotency-Key once, not several times.")),
        // Bytes beyond ASCII become characters that `RequestKey` refuses.
        (Some(key), None) => Ok(Some(String::from_utf8_lossy(key.as_bytes()).into_owned())),
    }
}
