//! `KeySet`: the keys of an issuer, and the rules that a token must follow.

use std::collections::BTreeMap;
use std::time::Duration;

use envelope::{Caller, ClientId, TenantId};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::Principal;
use super::token_cache::TokenCache;

/// The issuer and the audience that a token must name.
pub(super) struct ExpectedClaims {
    pub(super) issuer: String,
    pub(super) audience: String,
}

/// Why a token is refused.
pub(super) enum TokenError {
    /// Its key is not in the set. A newer set may have the key.
    UnknownKey,
    /// Another reason, as the end of the sentence "The token is refused: …".
    Invalid(&'static str),
}

/// Keys by their `kid`. Only `EdDSA` and ES256 are accepted, and times have no leeway.
#[derive(Default)]
pub(super) struct KeySet {
    keys: BTreeMap<String, (DecodingKey, Validation)>,
    /// Why the other keys of the document are ignored.
    ignored: Vec<String>,
    /// Part of the set, so that a newer set checks every token again.
    cache: TokenCache,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Claims {
    sub: ClientId,
    tenant: TenantId,
    #[serde(default)]
    scope: String,
    exp: Number,
    nbf: Number,
}

impl KeySet {
    /// Reads a JWKS document. Unusable keys are ignored, as RFC 7517 (section 5) requires, because an issuer may have keys
    /// for other purposes.
    ///
    /// # Errors
    /// The text is no JWKS document.
    pub(super) fn read(text: &str, expected: &ExpectedClaims) -> Result<Self, String> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| format!("it is not a JWKS document, {{\"keys\": [...]}}: {error}"))?;
        let mut set = Self::default();
        for key in document.keys {
            match usable(key, expected) {
                Ok((kid, key, validation)) => {
                    set.keys.insert(kid, (key, validation));
                }
                Err(why) => set.ignored.push(why),
            }
        }
        Ok(set)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The names of the keys, and why other keys are ignored, for the log.
    pub(super) fn summary(&self) -> (Vec<&str>, &[String]) {
        (self.keys.keys().map(String::as_str).collect(), &self.ignored)
    }

    pub(super) fn accepted(&self, token: &str) -> Option<Principal> {
        self.cache.find(token)
    }

    /// Checks a token, and remembers it if it is accepted.
    pub(super) fn check(&self, token: &str, longest_life: Duration) -> Result<Principal, TokenError> {
        let header = decode_header(token).map_err(|_| TokenError::Invalid("it is not a JWT"))?;
        let kid = header.kid.ok_or(TokenError::Invalid("it names no key (kid)"))?;
        let (key, validation) = self.keys.get(&kid).ok_or(TokenError::UnknownKey)?;
        let claims = decode::<Claims>(token, key, validation).map_err(|error| {
            TokenError::Invalid(match error.kind() {
                jsonwebtoken::errors::ErrorKind::ExpiredSignature => "it has expired",
                jsonwebtoken::errors::ErrorKind::ImmatureSignature => "it is not valid yet",
                jsonwebtoken::errors::ErrorKind::InvalidAudience => "it is for another audience",
                jsonwebtoken::errors::ErrorKind::InvalidIssuer => "it is from another issuer",
                jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => "its algorithm is not that of its key",
                jsonwebtoken::errors::ErrorKind::InvalidSignature => "its signature does not match",
                _ => "its claims are incomplete or not valid",
            })
        })?;
        let Claims { sub, tenant, scope, exp, nbf } = claims.claims;
        let life = exp.as_f64().zip(nbf.as_f64()).map(|(exp, nbf)| exp - nbf);
        if life.is_none_or(|life| life > longest_life.as_secs_f64()) {
            return Err(TokenError::Invalid("it is valid for too long"));
        }
        let principal = Principal { caller: Caller { tenant, client: sub }, scopes: scope };
        // RFC 7519 (section 2) allows a time with a fraction. Such tokens are rare and are not cached.
        if let Some(expires_at) = exp.as_u64() {
            self.cache.insert(token, principal.clone(), expires_at);
        }
        Ok(principal)
    }
}

fn usable(key: Value, expected: &ExpectedClaims) -> Result<(String, DecodingKey, Validation), String> {
    let kid = key.get("kid").and_then(Value::as_str).ok_or("a key has no kid")?.to_owned();
    let algorithm = match key.get("alg").and_then(Value::as_str) {
        Some("EdDSA") => Algorithm::EdDSA,
        Some("ES256") => Algorithm::ES256,
        other => return Err(format!("key {kid} has alg {other:?}; EdDSA and ES256 are accepted")),
    };
    let unusable = |error: &dyn std::fmt::Display| format!("key {kid}: {error}");
    let jwk: Jwk = serde_json::from_value(key).map_err(|error| unusable(&error))?;
    let key = DecodingKey::from_jwk(&jwk).map_err(|error| unusable(&error))?;
    let mut validation = Validation::new(algorithm);
    validation.leeway = 0;
    validation.validate_nbf = true;
    validation.set_issuer(&[&expected.issuer]);
    validation.set_audience(&[&expected.audience]);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    Ok((kid, key, validation))
}
