//! Authentication: the token alone determines tenant, client and scopes.
//!
//! `Principal` is the extractor, `Authenticator` checks tokens by a `TokenPolicy`, `JwksSource` reads the keys of the issuer, `KeySet`
//! holds them, and `TokenCache` remembers accepted tokens.

mod authenticator;
mod claims;
mod jwks_source;
mod key_set;
mod token_cache;
mod token_policy;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{AUTHORIZATION, HeaderValue};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use envelope::{Caller, TenantId};

use crate::{Edge, Problem, problem_types};
use key_set::TokenError;

pub use authenticator::Authenticator;
pub use jwks_source::{JwksError, JwksSource};
pub use token_policy::{TokenAlgorithms, TokenPolicy};

/// The authenticated caller of a request that is within its rate limit.
#[derive(Debug, Clone)]
pub struct Principal {
    caller: Caller,
    scopes: String,
}

impl Principal {
    /// Tenant and client.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The tenant.
    pub fn tenant(&self) -> &TenantId {
        &self.caller.tenant
    }

    pub(crate) fn has(&self, scope: &str) -> bool {
        self.scopes.split(' ').any(|held| held == scope)
    }

    /// Checks that the token has this scope, such as `orders:read`.
    ///
    /// # Errors
    /// [`FORBIDDEN`](problem_types::FORBIDDEN), 403, if the token does not have it.
    pub fn require(&self, scope: &str) -> Result<(), Problem> {
        if self.has(scope) {
            return Ok(());
        }
        let detail = format!("This needs the scope {scope}, which the token does not have.");
        let challenge = format!(" error=\"insufficient_scope\", scope=\"{scope}\"");
        Err(Problem::new(&problem_types::FORBIDDEN, detail).challenging(&challenge))
    }

    /// The caller of this request. The token is checked and the request counted once, also if several extractors ask.
    pub(crate) async fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let principal = request.extensions().get::<Self>().cloned();
        if let Some(principal) = principal {
            return Ok(principal);
        }
        let edge = Edge::of(request)?;
        let principal = authenticate(&edge, request).await?;
        tracing::Span::current().record("tenant", principal.tenant().as_str());
        edge.limiter.admit(principal.caller())?;
        request.extensions_mut().insert(principal.clone());
        Ok(principal)
    }
}

async fn authenticate(edge: &Edge, request: &HttpRequest) -> Result<Principal, Problem> {
    // Without a token there is no error of one (RFC 6750, section 3.1).
    let mut headers = request.headers().get_all(AUTHORIZATION);
    let header = headers
        .next()
        .ok_or_else(|| unauthenticated("the Authorization header is missing").challenging(""))?;
    if headers.any(|other| other != header) {
        return Err(refused("the Authorization headers differ"));
    }
    let token = token(header).map_err(refused)?;
    let mut checked = edge.authenticator.check(token);
    if matches!(checked, Err(TokenError::UnknownKey)) {
        // Detached, so that a client that disconnects does not cancel the refresh that other requests wait for.
        let authenticator = Arc::clone(&edge.authenticator);
        edge.database.detach(async move { authenticator.refresh_for_unknown_key().await }).await?;
        checked = edge.authenticator.check(token);
    }
    checked.map_err(|error| {
        refused(match &error {
            TokenError::UnknownKey => "its key is not known here (kid)",
            TokenError::Invalid(why) => why,
        })
    })
}

fn token(header: &HeaderValue) -> Result<&str, &'static str> {
    let text = header.to_str().map_err(|_| "the header is not text")?;
    let (scheme, token) = text.split_once(' ').ok_or("the header has no token")?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(token.trim()) } else { Err("the scheme is not Bearer") }
}

fn refused(why: &str) -> Problem {
    let challenge = format!(" error=\"invalid_token\", error_description=\"{why}\"");
    unauthenticated(why).challenging(&challenge)
}

fn unauthenticated(why: &str) -> Problem {
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
