//! Lets stored responses expire before their time, because the texts in them must be erased.
//!
//! The keys stay known: a retry gets 409 `idempotency-key-expired` and is not executed again. The job moves the records as it moves
//! any other expired one.

use database::functions::clock_timestamp;
use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::RecordState;
use crate::phased::idempotency_operation;
use crate::record::idempotency_record;

/// The states with a response that never changes again. A 202 has no text of a client.
const FINAL: [RecordState; 2] = [RecordState::Completed, RecordState::FailedTerminal];

/// The responses that expire early.
#[derive(Debug, Clone, Copy)]
pub enum ResponsesOf<'a> {
    /// Those of these operations.
    Operations(&'a [Uuid]),
    /// All those of a tenant.
    Tenant(&'a TenantId),
}

/// Lets these stored responses expire now, and the final replies of phased operations that have ended. Returns the number of
/// stored responses.
///
/// # Errors
/// Database errors.
pub async fn expire_responses(tx: &mut Tx, of: ResponsesOf<'_>) -> Result<usize> {
    use idempotency_operation as operation;
    use idempotency_record as record;
    let mut replies = diesel::update(operation::table)
        .set(operation::erase_at.eq(clock_timestamp().nullable()))
        .into_boxed()
        .filter(operation::erase_at.is_not_null());
    let mut responses = diesel::update(record::table)
        .set(record::expires_at.eq(clock_timestamp().nullable()))
        .into_boxed()
        .filter(record::state.eq_any(FINAL))
        .filter(record::expires_at.gt(clock_timestamp().nullable()));
    match of {
        ResponsesOf::Operations(ids) => {
            replies = replies.filter(operation::operation_id.eq_any(ids));
            responses = responses.filter(record::operation_id.eq_any(ids));
        }
        ResponsesOf::Tenant(tenant) => {
            replies = replies.filter(operation::tenant_id.eq(tenant.as_str()));
            responses = responses.filter(record::tenant_id.eq(tenant.as_str()));
        }
    }
    replies.execute(tx).await?;
    Ok(responses.execute(tx).await?)
}
