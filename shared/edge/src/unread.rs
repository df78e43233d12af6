//! A body that nobody reads to its end must not keep its connection. actix reads on behind the answer, without a limit,
//! for as long as a chunked body goes on and nobody holds it (measured).

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::error::PayloadError;
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpResponse};
use futures_util::Stream;

/// Holds a request's body until the answer is on its way: what is still to come of it then ends the connection.
pub(crate) struct Unread(Shared);

#[derive(Clone)]
struct Shared(Rc<RefCell<Payload>>);

impl Unread {
    /// Goes on holding the body, whoever reads it.
    pub(crate) fn hold(request: &mut ServiceRequest) -> Option<Self> {
        let payload = request.take_payload();
        if matches!(payload, Payload::None) {
            return None;
        }
        let shared = Shared(Rc::new(RefCell::new(payload)));
        request.set_payload(Payload::Stream { payload: Box::pin(shared.clone()) });
        Some(Self(shared))
    }

    /// Until this answer has been handed to the connection.
    pub(crate) fn until_sent(self, response: &mut HttpResponse<impl Sized>) {
        response.extensions_mut().insert(self.0);
    }
}

impl Stream for Shared {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(context)
    }
}
