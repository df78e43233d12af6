//! A key set, and what a token must be to count.

use std::collections::BTreeMap;

use contracts::{Caller, ClientId, TenantId};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::Principal;
use super::remembered::Remembered;

/// Whose tokens count, and for whom they must be.
pub(super) struct Trust {
    pub(super) issuer: String,
    pub(super) audience: String,
}

/// Why a token does not count.
pub(super) enum Refusal {
    /// Its key is not in the set; a newer set may have it.
    UnknownKey,
    /// In words that complete "The token is refused: …".
    Because(&'static str),
}

/// Keys by their `kid`. Only `EdDSA` and ES256 count; there is no leeway.
#[derive(Default)]
pub(super) struct KeySet {
    keys: BTreeMap<String, (DecodingKey, Validation)>,
    /// Why other keys of the document are not used.
    ignored: Vec<String>,
    /// Belongs to this set: with a newer one, every token is checked anew.
    remembered: Remembered,
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
}

impl KeySet {
    /// Reads a JWKS document. A key that cannot be used is ignored, as RFC 7517 (section 5) has it: the issuer may have
    /// keys for others. A set without a key that can be used is refused; the error says why.
    pub(super) fn read(text: &str, trust: &Trust) -> Result<Self, String> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| format!("it is no JWKS document, {{\"keys\": [...]}}: {error}"))?;
        let mut set = Self::default();
        for key in document.keys {
            match usable(key, trust) {
                Ok((kid, key, validation)) => {
                    set.keys.insert(kid, (key, validation));
                }
                Err(why) => set.ignored.push(why),
            }
        }
        match (set.keys.is_empty(), set.ignored.is_empty()) {
            (true, true) => Err("it holds no key".to_owned()),
            (true, false) => Err(format!("it holds no key that can be used: {}", set.ignored.join("; "))),
            _ => Ok(set),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The names of the keys, and why others are not used: what a person wants to know of a new set.
    pub(super) fn summary(&self) -> (Vec<&str>, &[String]) {
        (self.keys.keys().map(String::as_str).collect(), &self.ignored)
    }

    pub(super) fn check(&self, token: &str) -> Result<Principal, Refusal> {
        if let Some(principal) = self.remembered.find(token) {
            return Ok(principal);
        }
        let header = decode_header(token).map_err(|_| Refusal::Because("it is not a JWT"))?;
        let kid = header.kid.ok_or(Refusal::Because("it names no key (kid)"))?;
        let (key, validation) = self.keys.get(&kid).ok_or(Refusal::UnknownKey)?;
        let claims = decode::<Claims>(token, key, validation).map_err(|error| {
            Refusal::Because(match error.kind() {
                jsonwebtoken::errors::ErrorKind::ExpiredSignature => "it has expired",
                jsonwebtoken::errors::ErrorKind::ImmatureSignature => "it is not valid yet",
                jsonwebtoken::errors::ErrorKind::InvalidAudience => "it is for another audience",
                jsonwebtoken::errors::ErrorKind::InvalidIssuer => "it is from another issuer",
                jsonwebtoken::errors::ErrorKind::InvalidAlgorithm => "its algorithm is not that of its key",
                jsonwebtoken::errors::ErrorKind::InvalidSignature => "its signature does not match",
                _ => "its claims are not those of a client of ours",
            })
        })?;
        let Claims { sub, tenant, scope, exp } = claims.claims;
        let principal = Principal { caller: Caller { tenant, client: sub }, scopes: scope };
        // A time with a fraction is allowed (RFC 7519, section 2), and seldom enough to be checked each time.
        if let Some(expires_at) = exp.as_u64() {
            self.remembered.keep(token, principal.clone(), expires_at);
        }
        Ok(principal)
    }
}

fn usable(key: Value, trust: &Trust) -> Result<(String, DecodingKey, Validation), String> {
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
    validation.set_issuer(&[&trust.issuer]);
    validation.set_audience(&[&trust.audience]);
    validation.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
    Ok((kid, key, validation))
}
