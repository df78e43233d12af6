//! Reads request bodies with a size limit and a deadline. actix-web has no deadline for bodies of its own (measured).

use std::pin::Pin;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, UPGRADE};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use futures_util::StreamExt;
use idempotency::canonicalise;

use crate::problems::{ValidationError, invalid};
use crate::{Edge, EdgeSettings, Problem, problem_types};

/// The longest time between two parts of a body.
const IDLE_LIMIT: Duration = Duration::from_secs(2);

/// Reads a JSON body, in its canonical form.
pub(crate) async fn read_json(
    request: &HttpRequest,
    payload: &mut Payload,
    settings: &EdgeSettings,
) -> Result<Vec<u8>, Problem> {
    let body = read(request, payload, settings).await?;
    canonicalise(&body).map_err(|error| {
        let detail = format!("{} (line {}, column {})", error.what, error.line, error.column);
        invalid("The body is not acceptable JSON.", vec![ValidationError { pointer: error.pointer, detail }])
    })
}

async fn read(
    request: &HttpRequest,
    payload: &mut Payload,
    settings: &EdgeSettings,
) -> Result<Bytes, Problem> {
    let unsupported = |detail| Err(Problem::new(&problem_types::UNSUPPORTED_MEDIA_TYPE, detail));
    if !request.content_type().eq_ignore_ascii_case("application/json") {
        return unsupported(format!(
            "The content type is '{}'; send application/json.",
            request.content_type()
        ));
    }
    if request.headers().contains_key(CONTENT_ENCODING) {
        return unsupported("The body has a Content-Encoding; send it without one.".to_owned());
    }
    collect(request, payload, settings.body_limit, settings.body_deadline).await
}

/// Reads the whole body. Fails if it is larger than `limit` or takes longer than `deadline`.
async fn collect(
    request: &HttpRequest,
    payload: &mut Payload,
    limit: usize,
    deadline: Duration,
) -> Result<Bytes, Problem> {
    // actix-web then takes the connection as the body, which never ends. Other protocols, such as h2c, are offers.
    if request
        .headers()
        .get_all(UPGRADE)
        .any(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
    {
        let detail = "The request asks for a WebSocket, which this API does not have. Send it without the Upgrade header.";
        return Err(Problem::new(&problem_types::REQUEST_INVALID, detail));
    }
    // A header that is no number announces nothing; the limit is also checked while reading.
    let announced =
        request.headers().get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let read = async {
        let mut body = BytesMut::new();
        loop {
            match tokio::time::timeout(IDLE_LIMIT, payload.next()).await {
                Ok(Some(Ok(chunk))) if body.len() + chunk.len() > limit => {
                    return Err(too_large(limit));
                }
                Ok(Some(Ok(chunk))) => body.extend_from_slice(&chunk),
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a body broke off");
                    return Err(Problem::new(
                        &problem_types::REQUEST_INVALID,
                        "The body broke off before its end.",
                    ));
                }
                Ok(None) => return Ok(body.freeze()),
                Err(_) => return Err(too_slow()),
            }
        }
    };
    tokio::time::timeout(deadline, read).await.unwrap_or_else(|_| Err(too_slow()))
}

fn too_large(limit: usize) -> Problem {
    Problem::new(&problem_types::REQUEST_TOO_LARGE, format!("The body is larger than {limit} bytes."))
}

fn too_slow() -> Problem {
    Problem::new(&problem_types::REQUEST_TIMEOUT, "The body did not arrive in time; send the request again.")
}

/// The largest body that [`RawBody`] accepts.
const RAW_LIMIT: usize = 64 * 1024;

/// The exact bytes of a body of any type, so that a handler can check a signature over them. `None` if the body is larger than 64 KiB.
pub struct RawBody(pub Option<Bytes>);

impl FromRequest for RawBody {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let request = request.clone();
        let mut payload = payload.take();
        Box::pin(async move {
            let deadline = Edge::of(&request)?.settings.body_deadline;
            let read = collect(&request, &mut payload, RAW_LIMIT, deadline).await;
            if read.as_ref().is_err_and(|problem| *problem.kind() == problem_types::REQUEST_TOO_LARGE) {
                // A sender may read the response only once it has sent everything.
                let rest = async { while let Some(Ok(_)) = payload.next().await {} };
                let _ = tokio::time::timeout(deadline, rest).await;
                return Ok(Self(None));
            }
            read.map(|body| Self(Some(body)))
        })
    }
}
