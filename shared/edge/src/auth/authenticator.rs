//! `Authenticator`: checks tokens with the current keys. Because issuers replace keys, it reads the key set again while the
//! process runs.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Principal;
use super::jwks_source::{JwksError, JwksSource};
use super::key_set::{KeySet, TokenError};
use super::token_policy::TokenPolicy;

/// The shortest time between two refreshes for unknown keys. Any client can send a token with an unknown `kid`, so
/// refreshes must be rare.
const BETWEEN_REFRESHES: Duration = Duration::from_secs(10);

/// How long keys count that cannot be read again.
const MAX_STALE: Duration = Duration::from_hours(24);

/// Checks tokens against a key set.
pub struct Authenticator {
    policy: TokenPolicy,
    source: Option<JwksSource>,
    keys: RwLock<(Arc<KeySet>, Instant)>,
    between_refreshes: Duration,
    max_stale: Duration,
    /// When an unknown key last caused a refresh.
    last_refresh: Mutex<Option<Instant>>,
}

impl Authenticator {
    /// An authenticator with the keys of this JWKS document, which never change.
    ///
    /// # Errors
    /// [`JwksError::Unusable`] if the text is no JWKS document, or has no usable key.
    pub fn from_jwks(text: &str, policy: TokenPolicy) -> Result<Self, JwksError> {
        let fixed = Self::without_keys(None, policy);
        fixed.adopt("in memory".to_owned(), text)?;
        Ok(fixed)
    }

    /// An authenticator with the keys of this source. A file is read at once. A URL is not requested yet: until
    /// [`refresh`](Self::refresh) has succeeded, every token is refused.
    ///
    /// # Errors
    /// [`JwksError::Read`] if the file cannot be read, and [`JwksError::Unusable`] if it is no JWKS document, or has no usable key.
    pub fn from_source(source: JwksSource, policy: TokenPolicy) -> Result<Self, JwksError> {
        let text = source.read_at_once().transpose()?;
        let location = source.location();
        let authenticator = Self::without_keys(Some(source), policy);
        if let Some(text) = text {
            authenticator.adopt(location, &text)?;
        }
        Ok(authenticator)
    }

    fn without_keys(source: Option<JwksSource>, policy: TokenPolicy) -> Self {
        Self {
            policy,
            source,
            keys: RwLock::new((Arc::default(), Instant::now())),
            between_refreshes: BETWEEN_REFRESHES,
            max_stale: MAX_STALE,
            last_refresh: Mutex::default(),
        }
    }

    /// Sets the shortest time between two refreshes for unknown keys; the default is ten seconds.
    #[must_use]
    pub fn between_refreshes(mut self, pause: Duration) -> Self {
        self.between_refreshes = pause;
        self
    }

    /// Sets how long keys count that cannot be read again; the default is a day.
    #[must_use]
    pub fn max_stale(mut self, longest: Duration) -> Self {
        self.max_stale = longest;
        self
    }

    /// Returns whether there are keys to check tokens with.
    pub fn has_keys(&self) -> bool {
        !self.keys().is_empty()
    }

    /// Reads the key set again. If it cannot be read, the current keys stay. If it holds no usable key, every token is refused.
    ///
    /// # Errors
    /// As [`from_source`](Self::from_source), also for a URL: it must answer within five seconds, with status 200.
    pub async fn refresh(&self) -> Result<(), JwksError> {
        match &self.source {
            Some(source) => self.adopt(source.location(), &source.read().await?),
            None => Ok(()),
        }
    }

    /// Reads the key set at this interval, logs failures, and reports whether it was read and has a usable key.
    pub async fn keep_fresh(&self, every: Duration, report: impl Fn(bool)) {
        loop {
            tokio::time::sleep(every).await;
            report(self.refresh_or_warn().await);
        }
    }

    /// Reads the key set for a token with an unknown key. Requests during a refresh wait for its result. Within the pause
    /// after a refresh, it does nothing.
    pub(super) async fn refresh_for_unknown_key(&self) {
        let mut last_refresh = self.last_refresh.lock().await;
        if last_refresh.is_some_and(|at| at.elapsed() < self.between_refreshes) {
            return;
        }
        *last_refresh = Some(Instant::now());
        self.refresh_or_warn().await;
    }

    pub(super) fn check(&self, token: &str) -> Result<Principal, TokenError> {
        self.keys().check(token, &self.policy)
    }

    async fn refresh_or_warn(&self) -> bool {
        let warn = |error: &JwksError| tracing::warn!(%error, "the key set could not be refreshed");
        self.refresh().await.inspect_err(warn).is_ok()
    }

    /// Replaces the keys. A set without a usable key is an error, and replaces them, too: the issuer has withdrawn them.
    fn adopt(&self, location: String, text: &str) -> Result<(), JwksError> {
        let set = match KeySet::read(text, &self.policy) {
            Ok(set) => Arc::new(set),
            Err(why) => return Err(JwksError::Unusable { location, why }),
        };
        let read = (Arc::clone(&set), Instant::now());
        let (before, _) =
            std::mem::replace(&mut *self.keys.write().unwrap_or_else(PoisonError::into_inner), read);
        let (keys, ignored) = set.summary();
        if set.is_empty() {
            let why = format!("it holds no key that can be used, so every token is refused: {ignored:?}");
            return Err(JwksError::Unusable { location, why });
        }
        if before.summary() != (keys.clone(), ignored) {
            tracing::info!(location, ?keys, ?ignored, "tokens are checked with these keys");
        }
        Ok(())
    }

    /// The current keys; none if they were last read too long ago. A poisoned lock is safe to use: each change is a single
    /// assignment.
    fn keys(&self) -> Arc<KeySet> {
        let current = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let is_stale = self.source.is_some() && current.1.elapsed() > self.max_stale;
        if is_stale { Arc::default() } else { Arc::clone(&current.0) }
    }
}
