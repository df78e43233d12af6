//! Who is told. Held in memory, and never in the books: a secret is nowhere at rest.

use std::sync::{Mutex, MutexGuard, PoisonError};

use secrecy::SecretString;

use crate::settings::Endpoint;

/// The endpoints of this process.
#[derive(Debug, Default)]
pub(crate) struct Endpoints(Mutex<Vec<Endpoint>>);

impl Endpoints {
    /// These, to begin with.
    pub(crate) fn new(endpoints: Vec<Endpoint>) -> Self {
        Self(Mutex::new(endpoints))
    }

    /// Adds an endpoint, or gives one that is there other secrets.
    pub(crate) fn set(&self, endpoint: Endpoint) {
        let mut endpoints = self.lock();
        endpoints.retain(|known| known.url != endpoint.url);
        endpoints.push(endpoint);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Their URLs, in the order in which they were set.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.lock().iter().map(|endpoint| endpoint.url.clone()).collect()
    }

    /// What signs for this URL; nothing, if the endpoint has been forgotten.
    pub(super) fn secrets(&self, url: &str) -> Option<Vec<SecretString>> {
        self.lock().iter().find(|endpoint| endpoint.url == url).map(|endpoint| endpoint.secrets.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Endpoint>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
