//! Who asked for an operation: its audit fact, and the record of its key as long as that is kept.

use audits::Database;
use chrono::{DateTime, Utc};
use diesel::sql_types::{Array, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::{Result, Session};
use uuid::Uuid;

use super::line::{FactLine, Step, shown};

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct RequestRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) operation_id: Uuid,
    #[diesel(sql_type = Nullable<Text>)]
    tenant_id: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    actor: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    action: Option<String>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    recorded_at: Option<DateTime<Utc>>,
    /// The start of the key's SHA-256, as in the log.
    #[diesel(sql_type = Nullable<Text>)]
    key_hash: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    key_state: Option<String>,
    #[diesel(sql_type = Nullable<Integer>)]
    status: Option<i32>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    key_created_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    expires_at: Option<DateTime<Utc>>,
}

impl RequestRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/service/requests.sql");

    pub(crate) async fn read(session: &mut Session, operations: Vec<Uuid>) -> Result<Vec<Self>> {
        session.rows(sql_query(Self::QUERY).bind::<Array<SqlUuid>, _>(operations)).await
    }

    /// The line, not later than `caused`: the first row that the operation has written. `None` if neither fact nor key is there.
    pub(crate) fn line(&self, database: Database, caused: Option<DateTime<Utc>>) -> Option<FactLine> {
        let at = [caused, self.recorded_at, self.key_created_at].into_iter().flatten().min()?;
        let (actor, action) = (self.actor.as_deref()?, self.action.as_deref().unwrap_or("?"));
        let tenant = self.tenant_id.as_deref().unwrap_or("?");
        let operation = self.operation_id;
        let is_client = !actor.starts_with('@');
        let text = format!("{action} by {actor} of tenant {tenant}, operation {operation}");
        let key = if is_client { format!("; {}", self.key()) } else { String::new() };
        let step = if is_client { Step::Request } else { Step::Fact };
        Some(FactLine::new(at, database, step, text + &key))
    }

    fn key(&self) -> String {
        let (Some(hash), Some(state)) = (&self.key_hash, &self.key_state) else {
            return "the record of its key has expired".to_owned();
        };
        let status = self.status.map(|status| format!(" with {status}")).unwrap_or_default();
        let until = self
            .expires_at
            .map(|at| format!(", its response is kept until {}", shown(at)))
            .unwrap_or_default();
        format!("key {hash} is {state}{status}{until}")
    }
}
