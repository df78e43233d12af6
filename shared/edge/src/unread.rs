//! A body that nobody reads to its end must not keep its connection. actix reads on behind the answer, without a limit,
//! for as long as a chunked body goes on and nobody holds it (measured).

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::web::Bytes;
use futures_util::Stream;

/// A request's body, shared by whoever reads it and by the answer.
#[derive(Clone)]
pub(crate) struct Unread(Rc<RefCell<Payload>>);

impl Unread {
    /// Goes on holding the body, whoever reads it.
    pub(crate) fn hold(request: &mut ServiceRequest) -> Self {
        let unread = Self(Rc::new(RefCell::new(request.take_payload())));
        request.set_payload(Payload::Stream { payload: Box::pin(unread.clone()) });
        unread
    }

    /// Until the answer has been sent: what is still to come of the body then ends the connection.
    pub(crate) fn until_sent(self, answer: BoxBody) -> impl MessageBody {
        Outcome { body: answer, _unread: self }
    }
}

impl Stream for Unread {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(context)
    }
}

/// A response's body that holds the request's.
struct Outcome {
    body: BoxBody,
    _unread: Unread,
}

impl MessageBody for Outcome {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
