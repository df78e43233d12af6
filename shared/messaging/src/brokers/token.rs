//! `TokenFile`: the token with which a client logs in by OAUTHBEARER (KIP-255), from a file.
//!
//! The issuer of the token renews it and replaces the file; Kubernetes does so with the token of a service account. A client
//! reads the file when it is made, and again after four fifths of the token's time.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use rdkafka::client::OAuthToken;
use serde::Deserialize;

/// The file of the token; `None` if the client logs in otherwise. It never prints the token.
#[derive(Debug, Clone)]
pub(crate) struct TokenFile(pub(super) Option<PathBuf>);

/// The claims that librdkafka needs. The broker checks the token.
#[derive(Deserialize)]
struct Claims {
    sub: String,
    exp: i64,
}

impl TokenFile {
    pub(crate) fn is_given(&self) -> bool {
        self.0.is_some()
    }

    /// Reads the token. The error names the file, and contains nothing of the token.
    pub(crate) fn read(&self) -> Result<OAuthToken, Box<dyn Error>> {
        let path = self.0.as_ref().ok_or("no file of a token is given")?;
        let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let token = text.trim();
        let claims: Claims = jsonwebtoken::dangerous::insecure_decode_claims(token)
            .map_err(|_| format!("{}: it contains no JWT with `sub` and `exp`", path.display()))?;
        Ok(OAuthToken {
            token: token.to_owned(),
            principal_name: claims.sub,
            lifetime_ms: claims.exp.saturating_mul(1000),
        })
    }
}
