//! Checks tokens with the keys as they are now: issuers change them, and no process starts again for that.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Principal;
use super::keys::{KeySet, Refusal, Trust};
use super::source::{JwksError, JwksSource};

/// Anybody can write an unknown `kid` into a token, so what that sets off is rare.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);

/// Checks tokens against a key set.
pub struct Authenticator {
    trust: Trust,
    source: Option<JwksSource>,
    keys: RwLock<Arc<KeySet>>,
    between_looks: Duration,
    /// When an unknown key last made us look for a newer set.
    looked: Mutex<Option<Instant>>,
}

impl Authenticator {
    /// With the keys of this JWKS document, for good.
    pub fn from_jwks(text: &str, issuer: &str, audience: &str) -> Result<Self, JwksError> {
        let fixed = Self::without_keys(None, issuer, audience);
        fixed.adopt("in memory".to_owned(), text)?;
        Ok(fixed)
    }

    /// With the keys that are there. A file is read at once. A URL is not asked yet: until
    /// [`refresh`](Self::refresh) has succeeded, no token counts.
    pub fn from_source(source: JwksSource, issuer: &str, audience: &str) -> Result<Self, JwksError> {
        let text = source.read_at_once().transpose()?;
        let place = source.place();
        let authenticator = Self::without_keys(Some(source), issuer, audience);
        if let Some(text) = text {
            authenticator.adopt(place, &text)?;
        }
        Ok(authenticator)
    }

    fn without_keys(source: Option<JwksSource>, issuer: &str, audience: &str) -> Self {
        let trust = Trust { issuer: issuer.to_owned(), audience: audience.to_owned() };
        let (keys, looked) = (RwLock::default(), Mutex::default());
        Self { trust, source, keys, between_looks: BETWEEN_LOOKS, looked }
    }

    /// With another pause between two looks that unknown keys set off; ten seconds otherwise.
    #[must_use]
    pub fn between_looks(mut self, pause: Duration) -> Self {
        self.between_looks = pause;
        self
    }

    /// Whether any token can count.
    pub fn has_keys(&self) -> bool {
        !self.keys().is_empty()
    }

    /// Reads the key set again. If that fails, the keys that are known stay.
    pub async fn refresh(&self) -> Result<(), JwksError> {
        match &self.source {
            Some(source) => self.adopt(source.place(), &source.read().await?),
            None => Ok(()),
        }
    }

    /// Reads the key set again and again; a failure is logged.
    pub async fn keep_fresh(&self, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            self.refresh_or_warn().await;
        }
    }

    /// For a token of an unknown key: there may be a newer set. Whoever comes while somebody looks waits for what is
    /// found; whoever comes within the pause finds nothing new.
    pub(super) async fn look_again(&self) {
        let mut looked = self.looked.lock().await;
        if looked.is_some_and(|at| at.elapsed() < self.between_looks) {
            return;
        }
        *looked = Some(Instant::now());
        self.refresh_or_warn().await;
    }

    pub(super) fn check(&self, token: &str) -> Result<Principal, Refusal> {
        self.keys().check(token)
    }

    async fn refresh_or_warn(&self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(%error, "the keys that are known stay");
        }
    }

    fn adopt(&self, place: String, text: &str) -> Result<(), JwksError> {
        let set = match KeySet::read(text, &self.trust) {
            Ok(set) => Arc::new(set),
            Err(why) => return Err(JwksError::Unusable { place, why }),
        };
        let before = std::mem::replace(
            &mut *self.keys.write().unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&set),
        );
        let (keys, ignored) = set.summary();
        if before.summary() != (keys.clone(), ignored) {
            tracing::info!(place, ?keys, ?ignored, "tokens are checked with these keys");
        }
        Ok(())
    }

    fn keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}
