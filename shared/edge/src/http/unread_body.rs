//! `UnreadBody`: closes a connection whose request body was not read to its end.
//!
//! Without it, actix-web reads the rest of a chunked body after the response, without a limit, as long as the client
//! sends (measured).

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

/// A request's body, shared between its reader and the response.
#[derive(Clone)]
pub(super) struct UnreadBody(Rc<RefCell<Payload>>);

impl UnreadBody {
    /// Puts itself in the place of the request's body, and so holds the body until the response is sent.
    pub(super) fn hold(request: &mut ServiceRequest) -> Self {
        let unread = Self(Rc::new(RefCell::new(request.take_payload())));
        request.set_payload(Payload::Stream { payload: Box::pin(unread.clone()) });
        unread
    }

    /// Attaches the request's body to the response. If the request's body is incomplete when the response has been
    /// sent, actix-web closes the connection.
    pub(super) fn until_sent(self, response: BoxBody) -> impl MessageBody {
        ResponseBody { body: response, _unread: self }
    }
}

impl Stream for UnreadBody {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_next(context)
    }
}

/// A response's body that holds the request's body.
struct ResponseBody {
    body: BoxBody,
    _unread: UnreadBody,
}

impl MessageBody for ResponseBody {
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
