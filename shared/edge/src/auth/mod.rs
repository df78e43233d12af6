//! Who asks. The token says it, and nothing else does.

mod authenticator;
mod keys;
mod remembered;
mod source;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use contracts::{Caller, TenantId};

use crate::{Edge, Problem, problem_types};
use keys::Refusal;

pub use authenticator::Authenticator;
pub use source::{JwksError, JwksSource};

/// An authenticated caller who keeps to the rate limit.
#[derive(Debug, Clone)]
pub struct Principal {
    caller: Caller,
    scopes: String,
}

impl Principal {
    /// Whose data, and who acts.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Whose data.
    pub fn tenant(&self) -> &TenantId {
        &self.caller.tenant
    }

    /// 403 unless the token has this scope, such as `orders:read`.
    pub fn require(&self, scope: &str) -> Result<(), Problem> {
        if self.scopes.split(' ').any(|held| held == scope) {
            return Ok(());
        }
        Err(Problem::new(
            &problem_types::FORBIDDEN,
            format!("This needs the scope {scope}; the token does not have it."),
        ))
    }

    /// The caller of this request: checked, and counted, once for a request, however many ask.
    pub(crate) async fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let known = request.extensions().get::<Self>().cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let edge = Edge::of(request)?;
        let principal = authenticate(&edge, request).await?;
        edge.limiter.admit(principal.tenant())?;
        request.extensions_mut().insert(principal.clone());
        Ok(principal)
    }
}

async fn authenticate(edge: &Edge, request: &HttpRequest) -> Result<Principal, Problem> {
    let token = token(request).map_err(refused)?;
    match edge.authenticator.check(token) {
        Ok(principal) => return Ok(principal),
        Err(Refusal::Because(why)) => return Err(refused(why)),
        Err(Refusal::UnknownKey) => {}
    }
    // Detached: a client that hangs up must not end the look that others wait for.
    let authenticator = Arc::clone(&edge.authenticator);
    edge.database.detach(async move { authenticator.look_again().await }).await?;
    edge.authenticator.check(token).map_err(|refusal| {
        refused(match refusal {
            Refusal::UnknownKey => "its key (kid) is not known here",
            Refusal::Because(why) => why,
        })
    })
}

fn token(request: &HttpRequest) -> Result<&str, &'static str> {
    let header = request.headers().get(AUTHORIZATION).ok_or("there is none")?;
    let text = header.to_str().map_err(|_| "it is not text")?;
    let (scheme, token) = text.split_once(' ').ok_or("the header has no token")?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err("the scheme is not Bearer") }
}

fn refused(why: &str) -> Problem {
    Problem::new(
        &problem_types::UNAUTHENTICATED,
        format!("Send 'Authorization: Bearer TOKEN'. The token is refused: {why}."),
    )
}

impl FromRequest for Principal {
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Problem>>>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move { Self::of(&request).await })
    }
}
