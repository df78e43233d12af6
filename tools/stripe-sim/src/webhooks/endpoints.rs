//! The receivers of events. They are held in memory, so that no secret is stored.

use std::sync::{Mutex, MutexGuard, PoisonError};

use secrecy::SecretString;

use crate::settings::Endpoint;

/// The endpoints of this process.
#[derive(Debug)]
pub(crate) struct Endpoints(Mutex<Vec<Endpoint>>);

impl Endpoints {
    pub(crate) fn new(first: Option<Endpoint>) -> Self {
        Self(Mutex::new(first.into_iter().collect()))
    }

    /// Adds an endpoint, or replaces the one with the same URL.
    pub(crate) fn add(&self, endpoint: Endpoint) {
        let mut endpoints = self.lock();
        endpoints.retain(|known| known.url != endpoint.url);
        endpoints.push(endpoint);
    }

    /// Removes every endpoint.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.lock().iter().map(|endpoint| endpoint.url.clone()).collect()
    }

    /// The secret of this URL; `None` if the endpoint was removed.
    pub(super) fn secret(&self, url: &str) -> Option<SecretString> {
        self.lock().iter().find(|endpoint| endpoint.url == url).map(|endpoint| endpoint.secret.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Endpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
