//! `KeyOptional`: the extractor of a command whose clients choose. With a key it takes effect once; without one, each request
//! is executed. It is for commands whose repetition costs little.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use database::{Handler, Tx};

use super::command_request::{Command, CommandRequest};
use super::{Idempotent, KEY_HEADER, Natural};
use crate::conditional::refuse_preconditions;
use crate::{CommandError, Problem, Reply};

/// A command with or without a key.
pub enum KeyOptional<W> {
    /// The request has a key.
    Keyed(Idempotent<W>),
    /// The request has none.
    Unkeyed(Natural<W>),
}

impl<W: Command> KeyOptional<W> {
    /// Executes the command, unless its key was used before, and responds in either case. `handler` runs again after
    /// contention.
    pub async fn execute<F>(self, handler: F) -> Result<HttpResponse, Problem>
    where
        F: Handler<Tx, CommandRequest<W>, Result<Reply, CommandError>>,
    {
        match self {
            Self::Keyed(command) => command.execute(handler).await,
            Self::Unkeyed(command) => command.execute(handler).await,
        }
    }
}

impl<W: Command> FromRequest for KeyOptional<W> {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        if request.headers().contains_key(KEY_HEADER) {
            let keyed = Idempotent::from_request(request, payload);
            return Box::pin(async move { Ok(Self::Keyed(keyed.await?)) });
        }
        let unkeyed = Natural::from_request(request, payload);
        let request = request.clone();
        Box::pin(async move {
            let unkeyed = unkeyed.await?;
            refuse_preconditions(&request)?;
            Ok(Self::Unkeyed(unkeyed))
        })
    }
}
