//! Reading a body: bounded, in time, and JSON. actix has no deadline for bodies of its own (measured).

use std::time::Duration;

use actix_web::HttpMessage;
use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use actix_web::web::{Bytes, BytesMut};
use futures_util::StreamExt;
use idempotency::{Limits, canonicalise};

use crate::parse::{Invalid, invalid};
use crate::{EdgeSettings, Problem, kind};

/// The longest silence within a body.
const IDLE: Duration = Duration::from_secs(2);

/// The body's bytes, and their canonical form.
pub(crate) async fn read_json(
    request: &HttpRequest,
    payload: &mut Payload,
    settings: &EdgeSettings,
) -> Result<(Bytes, Vec<u8>), Problem> {
    let body = read(request, payload, settings).await?;
    let canonical = canonicalise(&body, Limits::default()).map_err(|fault| {
        let detail = format!("{} (line {}, column {})", fault.what, fault.line, fault.column);
        invalid(
            "The body is not JSON that is accepted here.",
            vec![Invalid { pointer: fault.pointer, detail }],
        )
    })?;
    Ok((body, canonical))
}

async fn read(
    request: &HttpRequest,
    payload: &mut Payload,
    settings: &EdgeSettings,
) -> Result<Bytes, Problem> {
    let unsupported = |detail| Err(Problem::new(&kind::UNSUPPORTED_MEDIA_TYPE, detail));
    if !request.content_type().eq_ignore_ascii_case("application/json") {
        return unsupported(format!(
            "The content type is '{}'; send application/json.",
            request.content_type()
        ));
    }
    if request.headers().contains_key(CONTENT_ENCODING) {
        return unsupported("The body has a Content-Encoding; send it without one.".to_owned());
    }
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > settings.body_limit) {
        return Err(too_large(settings));
    }
    let read = async {
        let mut body = BytesMut::new();
        loop {
            match tokio::time::timeout(IDLE, payload.next()).await {
                Ok(Some(Ok(chunk))) if body.len() + chunk.len() > settings.body_limit => {
                    return Err(too_large(settings));
                }
                Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
                Ok(Some(Err(error))) => {
                    return Err(Problem::new(
                        &kind::REQUEST_INVALID,
                        format!("The body broke off: {error}."),
                    ));
                }
                Ok(None) => return Ok(body.freeze()),
                Err(_) => return Err(too_slow()),
            }
        }
    };
    tokio::time::timeout(settings.body_deadline, read).await.unwrap_or_else(|_| Err(too_slow()))
}

fn too_large(settings: &EdgeSettings) -> Problem {
    Problem::new(
        &kind::REQUEST_TOO_LARGE,
        format!("The body may have {} bytes at most.", settings.body_limit),
    )
}

fn too_slow() -> Problem {
    Problem::new(&kind::REQUEST_TIMEOUT, "The body did not arrive in time; nothing was done. Send it again.")
}
