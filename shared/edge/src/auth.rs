//! Who asks. The token says it, and nothing else does.

use std::collections::HashMap;
use std::future::{Ready, ready};
use std::path::Path;

use actix_web::dev::Payload;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{FromRequest, HttpRequest, web};
use contracts::{Caller, ClientId, TenantId};
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use thiserror::Error;

use crate::{Edge, Problem, kind};

/// The key set cannot be used.
#[derive(Debug, Error)]
pub enum JwksError {
    /// The file cannot be read.
    #[error("the key set {path} cannot be read: {source}")]
    Read {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a JWKS, or holds no usable key.
    #[error("the key set is not usable: {0}")]
    Unusable(String),
}

/// Checks tokens against a key set. Only `EdDSA` and ES256 count; there is no leeway.
pub struct Authenticator {
    keys: HashMap<String, (DecodingKey, Validation)>,
}

#[derive(Deserialize)]
struct Claims {
    sub: ClientId,
    tenant: TenantId,
    #[serde(default)]
    scope: String,
}

impl Authenticator {
    /// Reads the keys of a JWKS file; each key has a `kid`.
    pub fn from_jwks_file(path: &Path, issuer: &str, audience: &str) -> Result<Self, JwksError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| JwksError::Read { path: path.display().to_string(), source })?;
        Self::from_jwks(&text, issuer, audience)
    }

    /// Reads the keys of a JWKS document.
    pub fn from_jwks(text: &str, issuer: &str, audience: &str) -> Result<Self, JwksError> {
        let set: JwkSet = serde_json::from_str(text).map_err(|e| JwksError::Unusable(e.to_string()))?;
        let mut keys = HashMap::new();
        for jwk in &set.keys {
            let unusable = |why: &str| JwksError::Unusable(why.to_owned());
            let kid = jwk.common.key_id.clone().ok_or_else(|| unusable("a key has no kid"))?;
            let algorithm = jwk.common.key_algorithm.map(|a| a.to_string());
            let algorithm = match algorithm.as_deref() {
                Some("EdDSA") => Algorithm::EdDSA,
                Some("ES256") => Algorithm::ES256,
                other => {
                    return Err(unusable(&format!(
                        "key {kid} has alg {other:?}; EdDSA and ES256 are accepted"
                    )));
                }
            };
            let key =
                DecodingKey::from_jwk(jwk).map_err(|e| JwksError::Unusable(format!("key {kid}: {e}")))?;
            let mut validation = Validation::new(algorithm);
            validation.leeway = 0;
            validation.validate_nbf = true;
            validation.set_issuer(&[issuer]);
            validation.set_audience(&[audience]);
            validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
            keys.insert(kid, (key, validation));
        }
        if keys.is_empty() {
            return Err(JwksError::Unusable("it holds no key".to_owned()));
        }
        Ok(Self { keys })
    }

    fn check(&self, token: &str) -> Result<Principal, &'static str> {
        let header = decode_header(token).map_err(|_| "it is not a JWT")?;
        let kid = header.kid.ok_or("it names no key (kid)")?;
        let (key, validation) = self.keys.get(&kid).ok_or("its key (kid) is not known here")?;
        let claims = decode::<Claims>(token, key, validation).map_err(|error| match error.kind() {
            jsonwebtoken::errors::ErrorKind::ExpiredSignature => "it has expired",
            jsonwebtoken::errors::ErrorKind::ImmatureSignature => "it is not valid yet",
            jsonwebtoken::errors::ErrorKind::InvalidAudience => "it is for another audience",
            jsonwebtoken::errors::ErrorKind::InvalidIssuer => "it is from another issuer",
            jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => "its algorithm is not that of its key",
            jsonwebtoken::errors::ErrorKind::InvalidSignature => "its signature does not match",
            _ => "its claims are not those of a client of ours",
        })?;
        let Claims { sub, tenant, scope } = claims.claims;
        Ok(Principal { caller: Caller { tenant, client: sub }, scopes: scope })
    }
}

/// An authenticated caller.
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
            &kind::FORBIDDEN,
            format!("This needs the scope {scope}; the token does not have it."),
        ))
    }

    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let refuse = |why: &str| {
            Problem::new(
                &kind::UNAUTHENTICATED,
                format!("Send 'Authorization: Bearer TOKEN'. The token is refused: {why}."),
            )
        };
        let edge = Edge::of(request)?;
        let header = request.headers().get(AUTHORIZATION).ok_or_else(|| refuse("there is none"))?;
        let text = header.to_str().map_err(|_| refuse("it is not text"))?;
        let (scheme, token) = text.split_once(' ').ok_or_else(|| refuse("the header has no token"))?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(refuse("the scheme is not Bearer"));
        }
        edge.authenticator.check(token.trim()).map_err(refuse)
    }
}

impl FromRequest for Principal {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Self::of(request))
    }
}

impl Edge {
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Problem> {
        let edge = request.app_data::<web::Data<Self>>();
        edge.map(|edge| edge.get_ref().clone()).ok_or_else(|| {
            tracing::error!("the application was built without web::Data<Edge>");
            Problem::new(&kind::INTERNAL, "Nothing was done.")
        })
    }
}
