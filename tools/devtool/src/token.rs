//! Signs one bearer token, as an identity provider would issue it, for any tenant and client.

use crate::{Result, keys::SigningKey};
use clap::Args;
use jsonwebtoken::{Algorithm, Header};
use serde::Serialize;

/// The claims of the token.
#[derive(Args)]
pub(crate) struct TokenRequest {
    /// The tenant
    #[arg(long, default_value = "demo", value_parser = name)]
    tenant: String,
    /// The client
    #[arg(long, default_value = "dev", value_parser = name)]
    client: String,
    /// The scopes, separated by spaces
    #[arg(long, default_value_t = services::scopes())]
    scopes: String,
    /// Life in seconds; a negative number gives an expired token
    #[arg(long, default_value_t = 3600, allow_negative_numbers = true)]
    ttl: i64,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'static str,
    aud: &'static str,
    sub: &'a str,
    tenant: &'a str,
    scope: &'a str,
    iat: i64,
    nbf: i64,
    exp: i64,
}

impl SigningKey {
    /// Signs a token with these claims.
    pub(crate) fn sign(&self, request: &TokenRequest) -> Result<String> {
        let now = i64::try_from(jsonwebtoken::get_current_timestamp()).unwrap_or(i64::MAX);
        let exp = now.saturating_add(request.ttl);
        let issued = now.min(exp); // an expired token was issued before it expired
        let claims = Claims {
            iss: "idem-dev",
            aud: "idem",
            sub: &request.client,
            tenant: &request.tenant,
            scope: &request.scopes,
            iat: issued,
            nbf: issued,
            exp,
        };
        let header = Header { kid: self.id(), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, &claims, &self.private)
            .map_err(|error| format!("cannot sign the token: {error}"))
    }
}

/// Services accept tenants and clients of 1 to 64 characters `[A-Za-z0-9._-]`, and clients with a few others.
fn name(text: &str) -> Result<String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if (1..=64).contains(&text.len()) && text.chars().all(allowed) {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 64 characters of A-Z a-z 0-9 . _ -".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;
    use clap::Parser;
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, errors::ErrorKind, jwk::JwkSet};
    use serde_json::Value;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        request: TokenRequest,
    }

    /// Signs as the command line does, and verifies as a service does, with the JWKS file.
    fn issue(arguments: &[&str]) -> jsonwebtoken::errors::Result<Value> {
        let dir = std::env::temp_dir().join(format!("idem-token-{}", uuid::Uuid::now_v7()));
        let line = CommandLine::try_parse_from([&["token"], arguments].concat()).unwrap();
        let token = keys::make(&dir).unwrap().sign(&line.request).unwrap();
        let jwks: JwkSet = serde_json::from_slice(&std::fs::read(dir.join("jwks.json")).unwrap()).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();

        let kid = decode_header(&token).unwrap().kid.unwrap();
        let key = DecodingKey::from_jwk(jwks.find(&kid).unwrap()).unwrap();
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.leeway = 0;
        rules.validate_nbf = true;
        rules.set_issuer(&["idem-dev"]);
        rules.set_audience(&["idem"]);
        rules.set_required_spec_claims(&["exp", "nbf", "iss", "aud", "sub"]);
        decode::<Value>(&token, &key, &rules).map(|token| token.claims)
    }

    #[test]
    fn a_token_verifies_with_the_jwks() {
        let claims = issue(&[]).unwrap();
        assert_eq!(claims["tenant"], "demo");
        assert_eq!(claims["sub"], "dev");
        assert_eq!(claims["scope"], services::scopes());
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
    }

    #[test]
    fn a_token_has_the_requested_claims() {
        let claims = issue(&["--tenant", "acme", "--client", "till-7", "--scopes", "orders:read"]).unwrap();
        assert_eq!(claims["tenant"], "acme");
        assert_eq!(claims["sub"], "till-7");
        assert_eq!(claims["scope"], "orders:read");
    }

    #[test]
    fn a_negative_ttl_gives_an_expired_token() {
        let refused = issue(&["--ttl", "-60"]).unwrap_err();
        assert_eq!(refused.kind(), &ErrorKind::ExpiredSignature);
    }

    #[test]
    fn a_name_that_services_refuse_is_refused() {
        for tenant in ["", "@system", "a b", "é", &"x".repeat(65)] {
            assert!(
                CommandLine::try_parse_from(["token", "--tenant", tenant]).is_err(),
                "{tenant:?} was accepted"
            );
        }
    }
}
