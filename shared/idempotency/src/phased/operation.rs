//! `OperationRecord`: the state and final response of a phased command, for its tenant. It shows the outcome also where
//! the stored response is only a 202.

use chrono::{DateTime, Utc};
use contracts::{OperationId, TenantId};
use database::{Connection, Result};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::store::idempotency_operation as row;
use crate::StoredResponse;
use crate::stored_response::ResponseColumns;

/// The state of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, AsExpression, FromSqlRow)]
#[diesel(sql_type = Text)]
pub enum OperationState {
    /// The operation has not ended, and nothing about it is in doubt.
    Running,
    /// The command took effect. Final.
    Succeeded,
    /// The command took no effect and never will. Final.
    Failed,
    /// It is not known yet whether the command took effect.
    Unknown,
}

impl OperationState {
    const ALL: [Self; 4] = [Self::Running, Self::Succeeded, Self::Failed, Self::Unknown];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl FromSql<Text, Pg> for OperationState {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let name = <String as FromSql<Text, Pg>>::from_sql(bytes)?;
        let state = Self::ALL.into_iter().find(|state| state.as_str() == name);
        state.ok_or_else(|| format!("unknown operation state '{name}'").into())
    }
}

impl ToSql<Text, Pg> for OperationState {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <str as ToSql<Text, Pg>>::to_sql(self.as_str(), out)
    }
}

/// An operation as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRecord {
    /// The same id in the record, the events and the audit fact.
    pub id: OperationId,
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
pub async fn operation(
    connection: &mut Connection,
    tenant: &TenantId,
    id: OperationId,
) -> Result<Option<OperationRecord>> {
    type Row = (Uuid, OperationState, ResponseColumns, (DateTime<Utc>, DateTime<Utc>));
    let columns = row::table.find(id.uuid()).filter(row::tenant_id.eq(tenant.as_str())).select((
        row::operation_id,
        row::state,
        (row::status, row::headers, row::body),
        (row::created_at, row::updated_at),
    ));
    let row: Option<Row> = columns.first(connection).await.optional()?;
    let Some((id, state, response, (created_at, updated_at))) = row else { return Ok(None) };
    let reply = match state {
        // These columns hold the response of the last attempt, which is not final.
        OperationState::Running | OperationState::Unknown => None,
        OperationState::Succeeded | OperationState::Failed => StoredResponse::from_columns(response)?,
    };
    Ok(Some(OperationRecord { id: id.into(), state, reply, created_at, updated_at }))
}
