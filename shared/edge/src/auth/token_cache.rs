//! `TokenCache`: the tokens that one key set has accepted, so that a signature is not checked again for every request.

use jsonwebtoken::get_current_timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use super::Principal;

/// The largest number of tokens; beyond it, rarely used ones are removed. An entry takes about 300 bytes.
const CAPACITY: usize = 4096;

/// Accepted tokens by their hash. The token itself is not stored.
pub(super) struct TokenCache(Cache<[u8; 32], Entry>);

#[derive(Clone)]
struct Entry {
    principal: Principal,
    /// Seconds since 1970, as in the token.
    expires_at: u64,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self(Cache::new(CAPACITY))
    }
}

impl TokenCache {
    /// The principal of a token that was accepted before and has not expired.
    pub(super) fn find(&self, token: &str) -> Option<Principal> {
        let hash = hash(token);
        let entry = self.0.get(&hash)?;
        if get_current_timestamp() <= entry.expires_at {
            return Some(entry.principal);
        }
        self.0.remove(&hash);
        None
    }

    /// Stores an accepted token until it expires.
    pub(super) fn insert(&self, token: &str, principal: Principal, expires_at: u64) {
        self.0.insert(hash(token), Entry { principal, expires_at });
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use envelope::Caller;

    use super::*;

    fn principal() -> Principal {
        let caller = Caller { tenant: "acme".parse().unwrap(), client: "shop".parse().unwrap() };
        Principal { caller, scopes: "orders:read".to_owned() }
    }

    #[test]
    fn a_token_is_cached_until_it_expires() {
        let (cache, now) = (TokenCache::default(), get_current_timestamp());
        cache.insert("good", principal(), now + 60);
        cache.insert("old", principal(), now - 1);
        assert!(cache.find("good").is_some());
        assert!(cache.find("old").is_none());
        assert!(cache.find("other").is_none());
    }

    #[test]
    fn the_token_cache_is_bounded() {
        let (cache, later) = (TokenCache::default(), get_current_timestamp() + 60);
        for number in 0..3 * CAPACITY {
            cache.insert(&number.to_string(), principal(), later);
        }
        assert!((1..=CAPACITY).contains(&cache.0.len()), "{}", cache.0.len());
    }
}
