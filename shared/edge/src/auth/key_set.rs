//! `KeySet`: the keys of an issuer, and the rules that a token must follow.

use std::collections::BTreeMap;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Principal;
use super::claims::{missing, principal};
use super::token_cache::TokenCache;
use super::token_policy::TokenPolicy;

/// Why a token is refused.
pub(super) enum TokenError {
    /// Its key is not in the set. A newer set may have the key.
    UnknownKey,
    /// Another reason, as the end of the sentence "The token is refused: …".
    Invalid(String),
}

/// Keys by their `kid`.
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

impl KeySet {
    /// Reads a JWKS document. Unusable keys are ignored, as RFC 7517 (section 5) requires, because an issuer may have keys
    /// for other purposes.
    ///
    /// # Errors
    /// The text is no JWKS document.
    pub(super) fn read(text: &str, policy: &TokenPolicy) -> Result<Self, String> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| format!("it is not a JWKS document, {{\"keys\": [...]}}: {error}"))?;
        let mut set = Self::default();
        for key in document.keys {
            match usable(&key, policy) {
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

    /// Checks a token, and remembers it if it is accepted.
    pub(super) fn check(&self, token: &str, policy: &TokenPolicy) -> Result<Principal, TokenError> {
        if let Some(principal) = self.cache.find(token) {
            return Ok(principal);
        }
        let invalid = |why: &str| TokenError::Invalid(why.to_owned());
        let header = decode_header(token).map_err(|_| invalid("it is not a JWT"))?;
        if header.crit.is_some() {
            return Err(invalid("its header has extensions that must be understood (crit)"));
        }
        let kid = header.kid.ok_or_else(|| invalid("it names no key (kid)"))?;
        let (key, validation) = self.keys.get(&kid).ok_or(TokenError::UnknownKey)?;
        let decoded = decode::<Map<String, Value>>(token, key, validation);
        let claims = decoded.map_err(|error| TokenError::Invalid(reason(error.kind())))?.claims;
        let principal = principal(&claims, policy).map_err(TokenError::Invalid)?;
        // RFC 7519 (section 2) allows a time with a fraction. Such tokens are rare and are not cached.
        if let Some(expires_at) = claims.get("exp").and_then(Value::as_u64) {
            self.cache.insert(token, principal.clone(), expires_at + validation.leeway);
        }
        Ok(principal)
    }
}

fn reason(error: &ErrorKind) -> String {
    match error {
        ErrorKind::ExpiredSignature => "it has expired (exp)".to_owned(),
        ErrorKind::ImmatureSignature => "it is not valid yet (nbf)".to_owned(),
        ErrorKind::InvalidAudience => "it is for another audience (aud)".to_owned(),
        ErrorKind::InvalidIssuer => "it is from another issuer (iss)".to_owned(),
        ErrorKind::InvalidAlgorithm => "its algorithm is not that of its key (alg)".to_owned(),
        ErrorKind::InvalidSignature => "its signature does not match".to_owned(),
        ErrorKind::MissingRequiredClaim(claim) => missing(claim),
        ErrorKind::InvalidClaimFormat(claim) => format!("its claim {claim} is no time"),
        _ => "it is not a JWT".to_owned(),
    }
}

fn usable(key: &Value, policy: &TokenPolicy) -> Result<(String, DecodingKey, Validation), String> {
    let text = |member| key.get(member).and_then(Value::as_str);
    let kid = text("kid").ok_or("a key has no kid")?.to_owned();
    if text("use").is_some_and(|purpose| purpose != "sig") {
        return Err(format!("key {kid} is for another purpose"));
    }
    // Some issuers leave `alg` out.
    let candidates = match (text("alg"), text("kty")) {
        (Some(name), _) => name.parse().into_iter().collect(),
        (None, Some("OKP")) => vec![Algorithm::EdDSA],
        (None, Some("EC")) => vec![Algorithm::ES256],
        (None, _) => vec![Algorithm::RS256, Algorithm::PS256],
    };
    let algorithms = policy.algorithms.among(&candidates);
    if algorithms.is_empty() {
        let algorithm = text("alg").or(text("kty")).unwrap_or("no algorithm");
        return Err(format!("key {kid} is for {algorithm}, which auth.algorithms does not allow"));
    }
    let unusable = |error: &dyn std::fmt::Display| format!("key {kid}: {error}");
    let jwk = Jwk::deserialize(key).map_err(|error| unusable(&error))?;
    let key = DecodingKey::from_jwk(&jwk).map_err(|error| unusable(&error))?;
    Ok((kid, key, policy.validation(algorithms)))
}
