//! Answers that do not arrive whole: the operation is done, and its client cannot know.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::http::StatusCode;
use actix_web::web::Bytes;
use thiserror::Error;

/// A body that fails: before its first byte, or after its first half. actix then drops the connection, with the head
/// still unsent in the first case; the tests of these faults would see any byte that came through.
struct Broken {
    size: BodySize,
    beginning: Option<Bytes>,
    /// Whether the beginning has had its chance to be sent.
    flushed: bool,
}

#[derive(Debug, Error)]
#[error("the connection is dropped, as a test card or /_faults asked")]
struct Dropped;

impl MessageBody for Broken {
    type Error = Dropped;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Dropped>>> {
        if let Some(beginning) = self.beginning.take() {
            return Poll::Ready(Some(Ok(beginning)));
        }
        if !self.flushed {
            // While a body has nothing to give, actix sends what it was given before.
            self.flushed = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(Err(Dropped)))
    }
}

/// Drops the connection without a byte.
pub(super) fn withheld() -> HttpResponse {
    HttpResponse::Ok().body(Broken { size: BodySize::Stream, beginning: None, flushed: true })
}

/// Announces the whole body, and drops the connection after its first half.
pub(super) fn truncated(status: StatusCode, body: &Bytes) -> HttpResponse {
    let size = BodySize::Sized(body.len() as u64);
    let beginning = Some(body.slice(..body.len() / 2));
    HttpResponse::build(status).content_type("application/json").body(Broken {
        size,
        beginning,
        flushed: false,
    })
}
