//! An identity provider for tests: one key pair for the process, and tokens for any tenant, client and scopes.

use std::sync::LazyLock;

use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode, get_current_timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

/// The issuer of the tokens.
pub const ISSUER: &str = "idem-dev";

/// The audience of the tokens.
pub const AUDIENCE: &str = "idem";

/// The id of the trusted key.
pub const KEY_ID: &str = "test";

/// A key pair of an identity provider.
pub struct SigningKey {
    kid: String,
    private: EncodingKey,
}

impl SigningKey {
    /// Makes a new key pair with this id.
    pub fn generate(kid: &str) -> Self {
        // Any 32 bytes are an Ed25519 key; RFC 8410 fixes the header before them.
        const HEADER: [u8; 16] = [48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32];
        let [one, two] = [Uuid::new_v4(), Uuid::new_v4()];
        let private = EncodingKey::from_ed_der(&[&HEADER[..], one.as_bytes(), two.as_bytes()].concat());
        Self { kid: kid.to_owned(), private }
    }

    /// A token of these claims.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_with(&header_of(Some(&self.kid)), claims)
    }

    fn sign_with(&self, header: &Header, claims: &Value) -> String {
        encode(header, claims, &self.private).unwrap()
    }
}

static TRUSTED: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::generate(KEY_ID));

/// The key set that a service under test trusts, as the text of a JWKS file.
pub fn jwks() -> String {
    jwks_of(&[&TRUSTED])
}

/// A key set of these keys.
pub fn jwks_of(keys: &[&SigningKey]) -> String {
    let public = |key: &&SigningKey| {
        let mut public = Jwk::from_encoding_key(&key.private, Algorithm::EdDSA).unwrap();
        public.common.key_id = Some(key.kid.clone());
        public
    };
    serde_json::to_string(&JwkSet { keys: keys.iter().map(public).collect() }).unwrap()
}

/// A token of this client for the next hour; scopes are separated by spaces. It goes after `Bearer `.
pub fn token(tenant: &str, client: &str, scopes: &str) -> String {
    signed(&claims(tenant, client, scopes))
}

/// The claims of such a token, for a test that changes one of them.
pub fn claims(tenant: &str, client: &str, scopes: &str) -> Value {
    let now = get_current_timestamp();
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": client, "tenant": tenant, "scope": scopes,
        "iat": now, "nbf": now, "exp": now + 3600,
    })
}

/// A token of these claims, signed with the trusted key.
pub fn signed(claims: &Value) -> String {
    TRUSTED.sign(claims)
}

/// The same, with another key id.
pub fn signed_as(kid: Option<&str>, claims: &Value) -> String {
    TRUSTED.sign_with(&header_of(kid), claims)
}

/// The same, with this header.
pub fn signed_with(header: &Header, claims: &Value) -> String {
    TRUSTED.sign_with(header, claims)
}

fn header_of(kid: Option<&str>) -> Header {
    Header { kid: kid.map(str::to_owned), ..Header::new(Algorithm::EdDSA) }
}
