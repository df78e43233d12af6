//! An answer that never leaves: the operation is done, and its client cannot know.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, MessageBody};
use actix_web::web::Bytes;
use thiserror::Error;

/// A body that fails before its first byte. actix then drops the connection with the head still unsent; the test
/// `the_dropped_reply_has_charged_once_and_the_retry_reads_it` would see any byte that came through.
struct Withheld;

#[derive(Debug, Error)]
#[error("the connection is dropped without an answer, as a test card or /_faults asked")]
struct Dropped;

impl MessageBody for Withheld {
    type Error = Dropped;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Dropped>>> {
        Poll::Ready(Some(Err(Dropped)))
    }
}

/// The response that drops the connection.
pub(crate) fn response() -> HttpResponse {
    HttpResponse::Ok().body(Withheld)
}
