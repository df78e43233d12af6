//! Tokens that were checked: a client sends the same one many times, and its signature is what costs.

use jsonwebtoken::get_current_timestamp;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};

use super::Principal;

/// How many tokens are remembered; then those that are seldom seen are forgotten. One takes some 300 bytes.
const CAPACITY: usize = 4096;

/// Tokens that one key set has let in, by their hash: a token itself is kept nowhere.
pub(super) struct Remembered(Cache<[u8; 32], Entry>);

#[derive(Clone)]
struct Entry {
    principal: Principal,
    /// Seconds since 1970, as the token has it.
    expires_at: u64,
}

impl Default for Remembered {
    fn default() -> Self {
        Self(Cache::new(CAPACITY))
    }
}

impl Remembered {
    /// Whose token this is, if it was let in before and has not expired since.
    pub(super) fn find(&self, token: &str) -> Option<Principal> {
        let hash = hash(token);
        let entry = self.0.get(&hash)?;
        if get_current_timestamp() <= entry.expires_at {
            return Some(entry.principal);
        }
        self.0.remove(&hash);
        None
    }

    /// The token counts until then.
    pub(super) fn keep(&self, token: &str, principal: Principal, expires_at: u64) {
        self.0.insert(hash(token), Entry { principal, expires_at });
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use contracts::Caller;

    use super::*;

    fn principal() -> Principal {
        let caller = Caller { tenant: "acme".parse().unwrap(), client: "shop".parse().unwrap() };
        Principal { caller, scopes: "orders:read".to_owned() }
    }

    #[test]
    fn a_token_is_remembered_until_it_expires() {
        let (remembered, now) = (Remembered::default(), get_current_timestamp());
        remembered.keep("good", principal(), now + 60);
        remembered.keep("old", principal(), now - 1);
        assert!(remembered.find("good").is_some());
        assert!(remembered.find("old").is_none());
        assert!(remembered.find("other").is_none());
    }

    #[test]
    fn no_more_tokens_are_remembered_than_there_is_room_for() {
        let (remembered, later) = (Remembered::default(), get_current_timestamp() + 60);
        for number in 0..3 * CAPACITY {
            remembered.keep(&number.to_string(), principal(), later);
        }
        assert!((1..=CAPACITY).contains(&remembered.0.len()), "{}", remembered.0.len());
    }
}
