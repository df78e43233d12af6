//! Responses that do not arrive completely: the operation is done, and its client cannot know.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use thiserror::Error;

/// A body that fails before its first byte, or after its first half. actix then drops the connection. In the first case
/// the response head has not been sent either.
struct BrokenBody {
    size: BodySize,
    first_half: Option<Bytes>,
    /// True if actix had the opportunity to send the first half.
    flushed: bool,
}

#[derive(Debug, Error)]
#[error("the connection is dropped, as a test card or /_faults asked")]
struct Dropped;

impl MessageBody for BrokenBody {
    type Error = Dropped;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Dropped>>> {
        if let Some(first_half) = self.first_half.take() {
            return Poll::Ready(Some(Ok(first_half)));
        }
        if !self.flushed {
            // actix sends what it has while the body is pending.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(Dropped)))
    }
}

/// Drops the connection without a byte.
pub(super) fn dropped() -> HttpResponse {
    HttpResponse::Ok().body(BrokenBody { size: BodySize::Stream, first_half: None, flushed: true })
}

/// Announces the complete body, and drops the connection after its first half.
pub(super) fn truncated(status: StatusCode, body: &Bytes) -> HttpResponse {
    let size = BodySize::Sized(body.len() as u64);
    let first_half = Some(body.slice(..body.len() / 2));
    let body = BrokenBody { size, first_half, flushed: false };
    HttpResponse::build(status).content_type("application/json").body(body)
}
