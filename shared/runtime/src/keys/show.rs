//! `keys show`: the operations of a client's key, as a retry would find them.

use clap::Args;
use database::Database;
use database::time::to_rfc3339;
use envelope::{Caller, ClientId, TenantId};
use idempotency::{Key, KeyPolicy, KeyRecord, records_of};
use serde::Serialize;

use crate::{CommandOutput, table};

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The key, as the client sends it
    key: String,
    /// The tenant of the client
    #[arg(long, value_name = "NAME")]
    tenant: TenantId,
    /// The client that sent the key
    #[arg(long, value_name = "NAME")]
    client: ClientId,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    /// Oldest first.
    operations: Vec<KeyOperation>,
}

/// One operation of the key.
#[derive(Serialize)]
struct KeyOperation {
    operation_id: String,
    route: String,
    state: &'static str,
    /// The HTTP status of the stored response.
    status: Option<u16>,
    created_at: String,
    /// Until when a retry gets the stored response.
    expires_at: Option<String>,
}

impl Show {
    /// Is done if there is an operation.
    pub(super) async fn run(
        self,
        database: &Database,
        policy: KeyPolicy,
    ) -> Result<CommandOutput, Box<dyn std::error::Error>> {
        let key = Key::parse(self.key.as_bytes(), policy)?;
        let caller = Caller { tenant: self.tenant, client: self.client };
        let mut connection = database.connection().await?;
        let records = records_of(&mut connection, &caller, &key).await?;
        let report = Report { operations: records.iter().map(KeyOperation::of).collect() };
        Ok(CommandOutput::new(self.json, !records.is_empty(), &report, Report::text))
    }
}

impl KeyOperation {
    fn of(record: &KeyRecord) -> Self {
        Self {
            operation_id: record.operation.to_string(),
            route: format!("{} {}", record.method, record.route),
            state: record.state.into(),
            status: record.status,
            created_at: to_rfc3339(record.created_at),
            expires_at: record.expires_at.map(to_rfc3339),
        }
    }
}

impl Report {
    fn text(&self) -> String {
        if self.operations.is_empty() {
            return "the client has not used this key, or its transaction has not committed\n".to_owned();
        }
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let row = |operation: &KeyOperation| {
            let KeyOperation { operation_id, route, state, status, created_at, expires_at } = operation;
            vec![
                operation_id.clone(),
                route.clone(),
                (*state).to_owned(),
                or_none(status.map(|status| status.to_string())),
                created_at.clone(),
                or_none(expires_at.clone()),
            ]
        };
        let rows: Vec<_> = self.operations.iter().map(row).collect();
        table::table(&["operation", "route", "state", "status", "created", "expires"], &rows)
    }
}
