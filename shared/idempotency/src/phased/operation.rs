//! `OperationRecord`: the state and final response of a phased command, for its tenant. It shows the outcome also where
//! the stored response is only a 202.

use chrono::{DateTime, Utc};
use database::{Connection, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{OperationId, TenantId};
use uuid::Uuid;

use super::store::{OperationState, idempotency_operation as row};
use crate::StoredResponse;
use crate::stored_response::ResponseColumns;

/// An operation as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    /// The same id in the record, the events and the audit fact.
    pub id: OperationId,
    /// The client that sent the command.
    pub client: String,
    /// Its state.
    pub state: OperationState,
    /// The final response, if the operation has ended.
    pub reply: Option<StoredResponse>,
    /// When the command was accepted.
    pub created_at: DateTime<Utc>,
    /// When the operation last changed.
    pub updated_at: DateTime<Utc>,
}

/// Finds this tenant's phased command. Commands of one transaction have no operation row, because they end before they
/// respond.
///
/// # Errors
/// Database errors, also if the stored response has a status or headers that this program did not write.
pub async fn operation(
    connection: &mut Connection,
    tenant: &TenantId,
    id: OperationId,
) -> Result<Option<OperationRecord>> {
    type Row = (Uuid, String, OperationState, ResponseColumns, (DateTime<Utc>, DateTime<Utc>));
    let columns = row::table.find(id.uuid()).filter(row::tenant_id.eq(tenant.as_str())).select((
        row::operation_id,
        row::client_id,
        row::state,
        (row::status, row::headers, row::body),
        (row::created_at, row::updated_at),
    ));
    let row: Option<Row> = columns.first(connection).await.optional()?;
    let Some((id, client, state, response, (created_at, updated_at))) = row else { return Ok(None) };
    let reply = match state {
        // These columns hold the response of the last attempt, which is not final.
        OperationState::Running | OperationState::Unknown => None,
        OperationState::Succeeded | OperationState::Failed => response.try_into()?,
    };
    Ok(Some(OperationRecord { id: id.into(), client, state, reply, created_at, updated_at }))
}
