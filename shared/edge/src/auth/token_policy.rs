//! `TokenPolicy`: the issuer, the audience and the times that a token must have, and the names of its claims.

use std::str::FromStr;
use std::time::Duration;

use jsonwebtoken::{Algorithm, AlgorithmFamily, Validation};

/// The rules for tokens.
#[derive(Debug, Clone)]
pub struct TokenPolicy {
    /// The issuer of the tokens (`iss`).
    pub issuer: String,
    /// An audience that each token must name (`aud`).
    pub audience: String,
    /// The claim that names the tenant.
    pub tenant_claim: String,
    /// The claim that names the client.
    pub client_claim: String,
    /// The algorithms of the keys that are used.
    pub algorithms: TokenAlgorithms,
    /// How far the clocks of the issuer and of this process may differ.
    pub leeway: Duration,
    /// The longest time between the beginning and the end of a token.
    pub longest_life: Duration,
}

impl TokenPolicy {
    /// The policy for tokens of this issuer and audience. The claims are `tenant` and `sub`, the algorithms `EdDSA` and ES256, the leeway
    /// is five seconds and the longest life a day.
    pub fn of(issuer: &str, audience: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            audience: audience.to_owned(),
            tenant_claim: "tenant".to_owned(),
            client_claim: "sub".to_owned(),
            algorithms: TokenAlgorithms(vec![Algorithm::EdDSA, Algorithm::ES256]),
            leeway: Duration::from_secs(5),
            longest_life: Duration::from_hours(24),
        }
    }

    /// The checks of `jsonwebtoken` for a key of these algorithms.
    pub(super) fn validation(&self, algorithms: Vec<Algorithm>) -> Validation {
        let mut validation = Validation { algorithms, ..Validation::default() };
        validation.leeway = self.leeway.as_secs();
        validation.validate_nbf = true;
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation
    }
}

/// Algorithms of signatures, such as `EdDSA` and `RS256`. Those with a shared secret are none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenAlgorithms(Vec<Algorithm>);

impl TokenAlgorithms {
    /// Those of these candidates that are allowed.
    pub(super) fn among(&self, candidates: &[Algorithm]) -> Vec<Algorithm> {
        candidates.iter().filter(|candidate| self.0.contains(candidate)).copied().collect()
    }
}

impl FromStr for TokenAlgorithms {
    type Err = ();

    /// Reads names that are separated by commas.
    fn from_str(text: &str) -> Result<Self, ()> {
        let named = text.split(',').map(|name| name.trim().parse::<Algorithm>().ok());
        let usable =
            named.map(|named| named.filter(|named| named.family() != AlgorithmFamily::Hmac).ok_or(()));
        usable.collect::<Result<_, ()>>().map(Self)
    }
}
