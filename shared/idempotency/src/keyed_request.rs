//! `KeyedRequest`: a request with its idempotency key, before the key is looked up. `Operation`: an accepted request.

use chrono::{DateTime, Utc};
use envelope::{Caller, OperationId};
use sha2::{Digest, Sha256};
use tracing::Span;
use tracing::field::display;
use uuid::Uuid;

use crate::{Fingerprint, Key};

/// The scope in which a key is unique. The same key in another scope names another operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyScope {
    /// Tenant and client, from the token only, never from the request.
    pub caller: Caller,
    /// `POST`
    pub method: String,
    /// The route's template, such as `/v1/orders/{id}/cancel`.
    pub route: String,
}

/// A request that is to take effect once.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    /// The scope of the key.
    pub scope: KeyScope,
    /// The client's key.
    pub key: Key,
    /// Identifies the request's content.
    pub fingerprint: Fingerprint,
    /// The trace context of the request.
    pub traceparent: Option<String>,
}

impl KeyedRequest {
    /// The number of this key's advisory lock.
    pub(crate) fn lock_number(&self) -> i64 {
        lock_number(self.key_digest())
    }

    /// The digest that finds the key's record in memory.
    pub(crate) fn record_digest(&self) -> [u8; 32] {
        let KeyScope { caller, method, route } = &self.scope;
        framed_digest([caller.tenant.as_str(), caller.client.as_str(), method, route, self.key.as_str()])
    }

    /// The request as a new operation.
    pub(crate) fn operation(&self, at: DateTime<Utc>) -> Operation {
        let caller = self.scope.caller.clone();
        Operation { id: OperationId::generate(), seed: self.key_digest(), caller, at }
    }

    /// The digest that finds the key's tombstones and its fence.
    pub(crate) fn key_digest(&self) -> Uuid {
        key_digest(&self.scope.caller, &self.key)
    }

    /// Logs that a request with a key arrived. The key itself stays out of the log.
    pub(crate) fn log_received(&self) {
        tracing::debug!(key = %self.key.short_hash(), route = %self.scope.route, "IdempotencyKeyReceived");
    }

    /// Logs that the request is new and its command starts.
    pub(crate) fn log_processing(&self) {
        tracing::debug!(key = %self.key.short_hash(), route = %self.scope.route, "NewRequestProcessing");
    }

    /// Logs that the stored response is returned.
    pub(crate) fn log_replayed(&self, operation: OperationId) {
        tracing::debug!(key = %self.key.short_hash(), route = %self.scope.route, %operation, "CachedResponseReturned");
    }
}

/// The number of a key's advisory lock. All routes share it, so that a fence holds the key on each of them. If two keys have the same
/// number, one of them gets *in progress* and retries.
pub(crate) fn lock_number(key_digest: Uuid) -> i64 {
    key_digest.as_u64_pair().0.cast_signed()
}

/// The digest of a key, which its tombstones and its fence have instead of the key.
pub(crate) fn key_digest(caller: &Caller, key: &Key) -> Uuid {
    digest_of_key(caller.tenant.as_str(), caller.client.as_str(), key.as_str())
}

/// The same of a key as a record has it. The function `idempotency_key_digest` of the database computes the same. It leaves method and
/// route out, so that one step through the index finds a key on all its routes.
pub(crate) fn digest_of_key(tenant: &str, client: &str, key: &str) -> Uuid {
    let digest = framed_digest([tenant, client, key]);
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    Uuid::from_bytes(first)
}

/// SHA-256 over parts, each framed by its length in bytes (u64, big-endian).
fn framed_digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

/// A request that is being executed: what a command knows besides its arguments.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The same id in the record, the events and the audit fact.
    pub id: OperationId,
    /// Stands for tenant, client and key, and does not show the key. An id that a command computes from it is the same when a client
    /// repeats a request that was lost with a database. Without a key it is the id of the operation.
    pub seed: Uuid,
    /// Who sent the request.
    pub caller: Caller,
    /// When the transaction began, by the database's clock. All rows of the operation carry this time.
    pub at: DateTime<Utc>,
}

/// Adds the operation to the log lines of its request from now on.
pub(crate) fn show_operation(request: &Span, operation: OperationId) {
    request.record("operation", display(operation));
}
