//! `release_key`: frees the key of a command without an effect, so that a request with it is a new command.
//!
//! Only an operator releases a key, after the cause of the failure is removed. A key whose command took effect, or may have, is
//! never freed: a retry with it would repeat the effect.

use database::functions::pg_try_advisory_xact_lock;
use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{InvalidName, OperationId, TenantId};

use crate::RecordState;
use crate::keyed_request::{digest_of_key, lock_number};
use crate::record::{idempotency_record, idempotency_snapshot};

/// The states of a command that had no effect.
const WITHOUT_EFFECT: [RecordState; 2] = [RecordState::FailedRetryable, RecordState::FailedTerminal];

/// The key of one operation, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    tenant: String,
    /// `POST`
    pub method: String,
    /// The route's template.
    pub route: String,
    /// The state of the record.
    pub state: RecordState,
}

/// The result of [`release_key`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRelease {
    /// The key is free once the transaction has committed.
    Released(HeldKey),
    /// The command took effect, or may have: the key stays.
    Kept(HeldKey),
    /// A request with the key runs now, and nothing was changed.
    InUse(HeldKey),
    /// No record belongs to the operation: the key was released before, or its response has expired.
    NotFound,
}

impl HeldKey {
    /// The tenant that used the key.
    ///
    /// # Errors
    /// The record's tenant is not a valid name.
    pub fn tenant(&self) -> std::result::Result<TenantId, InvalidName> {
        self.tenant.parse()
    }
}

/// Deletes the record and the response of the key that this operation was accepted with. The operation itself stays.
///
/// # Errors
/// Database errors.
pub async fn release_key(tx: &mut Tx, operation: OperationId) -> Result<KeyRelease> {
    use idempotency_record as record;
    let row = record::table.filter(record::operation_id.eq(operation.uuid()));
    let columns =
        (record::tenant_id, record::client_id, record::method, record::route, record::key, record::state);
    let found: Option<(String, String, String, String, String, RecordState)> =
        row.select(columns).first(tx).await.optional()?;
    let Some((tenant, client, method, route, key, state)) = found else { return Ok(KeyRelease::NotFound) };
    // The lock of the request with this key, so that no retry reads the record meanwhile.
    let number = lock_number(digest_of_key(&tenant, &client, &key));
    let is_locked: bool = diesel::select(pg_try_advisory_xact_lock(number)).get_result(tx).await?;
    let held = HeldKey { tenant, method, route, state };
    if !is_locked {
        return Ok(KeyRelease::InUse(held));
    }
    let without_effect = row.filter(record::state.eq_any(WITHOUT_EFFECT));
    if diesel::delete(without_effect).execute(tx).await? == 0 {
        return Ok(KeyRelease::Kept(held));
    }
    diesel::delete(idempotency_snapshot::table.find(operation.uuid())).execute(tx).await?;
    Ok(KeyRelease::Released(held))
}
