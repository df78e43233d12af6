//! A POST as it arrived: its parameters, and the key under which it may come again.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::{FromRequest, HttpMessage, HttpRequest, error, web};

use crate::keys::Stamp;
use crate::processor::Circumstances;
use crate::protocol::{Form, Refusal};

/// Far above what any request of this protocol needs.
pub(super) const MAX_BODY: usize = 64 * 1024;

/// What a handler that changes something asks for.
pub(crate) struct Call {
    pub(crate) form: Form,
    pub(crate) of: Circumstances,
}

impl FromRequest for Call {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, actix_web::Error>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let body = web::Payload::from_request(&request, &mut payload)
                .await?
                .to_bytes_limited(MAX_BODY)
                .await
                .map_err(|_| Refusal::too_large())?
                .map_err(error::ErrorBadRequest)?;
            if !body.is_empty() && !is_form(&request) {
                let message = "Invalid request (check that your POST content type is \
                               application/x-www-form-urlencoded).";
                return Err(Refusal::invalid(message).into());
            }
            let form = Form::parse(&body)?;
            let stamp = key(&request)?.map(|key| Stamp::new(&key, request.path(), &form)).transpose()?;
            // The gate knows the rest.
            let known = request.extensions().get::<Circumstances>().cloned().unwrap_or_default();
            Ok(Self { form, of: Circumstances { stamp, ..known } })
        })
    }
}

fn is_form(request: &HttpRequest) -> bool {
    let value = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// The Idempotency-Key, if there is one; two of them are refused.
fn key(request: &HttpRequest) -> Result<Option<String>, Refusal> {
    let mut keys = request.headers().get_all("idempotency-key");
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(_), Some(_)) => Err(Refusal::invalid("Send Idempotency-Key once, not several times.")),
        // Bytes beyond ASCII become characters that the stamp refuses.
        (Some(key), None) => Ok(Some(String::from_utf8_lossy(key.as_bytes()).into_owned())),
    }
}
