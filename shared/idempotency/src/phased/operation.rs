//! What became of a phased command, for its tenant: also when the receipt says no more than that it was accepted.

use chrono::{DateTime, Utc};
use contracts::{OperationId, TenantId};
use database::{Connection, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use super::rows::idempotency_operation as row;
use crate::StoredResponse;

/// Where an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationState {
    /// It has not ended, and nothing about it is in doubt.
    Running,
    /// It took effect. For good.
    Succeeded,
    /// It took no effect, and never will. For good.
    Failed,
    /// Whether it took effect is being found out.
    Unknown,
}

impl OperationState {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::Running, Self::Succeeded, Self::Failed, Self::Unknown].into_iter().find(|s| s.name() == name)
    }
}

/// An operation as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    /// Its id, from the record to the audit fact.
    pub id: OperationId,
    /// Where it is.
    pub state: OperationState,
    /// The final reply, once it has ended.
    pub reply: Option<StoredResponse>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

#[derive(Queryable)]
struct Row {
    operation_id: Uuid,
    state: String,
    status: Option<i16>,
    headers: Option<Value>,
    body: Option<Vec<u8>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

/// This tenant's phased command of this id. Commands of one transaction have no operation: they end before they answer.
pub async fn operation(
    connection: &mut Connection,
    tenant: &TenantId,
    id: OperationId,
) -> Result<Option<OperationRecord>> {
    let row = row::table.find(id.uuid()).filter(row::tenant_id.eq(tenant.as_str())).select((
        row::operation_id,
        row::state,
        row::status,
        row::headers,
        row::body,
        row::created_at,
        row::updated_at,
    ));
    let row: Option<Row> = row.first(connection).await.optional()?;
    row.map(OperationRecord::try_from).transpose()
}

impl TryFrom<Row> for OperationRecord {
    type Error = database::Error;

    fn try_from(row: Row) -> Result<Self> {
        let state = OperationState::named(&row.state).ok_or_else(|| {
            diesel::result::Error::DeserializationError("operation.state is not readable".into())
        })?;
        // Until it has ended, the columns hold what its latest try came to.
        let ended = matches!(state, OperationState::Succeeded | OperationState::Failed);
        let reply = StoredResponse::from_columns(row.status, row.headers, row.body).filter(|_| ended);
        Ok(Self {
            id: row.operation_id.into(),
            state,
            reply,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}
