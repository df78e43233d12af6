//! What a request is, before anybody has looked whether it was seen before.

use chrono::{DateTime, Utc};
use contracts::{Caller, OperationId};
use sha2::{Digest, Sha256};

use crate::{Fingerprint, Key};

/// Where a key counts: the same key of another tenant, client, method or route is another operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyScope {
    /// From the token alone, never from the request.
    pub caller: Caller,
    /// `POST`
    pub method: String,
    /// The route's template, such as `/v1/orders/{id}/cancel`.
    pub route: String,
}

/// One client's wish to have one thing done once.
#[derive(Debug, Clone)]
pub struct KeyedRequest {
    /// Where the key counts.
    pub scope: KeyScope,
    /// The client's name for this intent.
    pub key: Key,
    /// What exactly is asked.
    pub fingerprint: Fingerprint,
    /// Trace context of the request.
    pub traceparent: Option<String>,
}

impl KeyedRequest {
    /// The number of this key's advisory lock. Two keys that share a number cost one of them a retry, nothing more.
    pub(crate) fn lock_number(&self) -> i64 {
        let mut hash = Sha256::new();
        let caller = &self.scope.caller;
        for part in [
            caller.tenant.as_str(),
            caller.client.as_str(),
            &self.scope.method,
            &self.scope.route,
            self.key.as_str(),
        ] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        i64::from_be_bytes(first)
    }
}

/// An intent that is being carried out.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Names it from the record to the audit fact.
    pub id: OperationId,
    /// Who asked for it.
    pub caller: Caller,
    /// When it was begun, by the database's clock: one reading for all that it writes.
    pub at: DateTime<Utc>,
}
