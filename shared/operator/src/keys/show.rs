//! `keys show`: the operations of a client's key, as a retry would find them.

use std::error::Error;

use clap::Args;
use database::time::to_rfc3339;
use envelope::{Caller, ClientId, TenantId};
use idempotency::{Key, KeyRecord, records_of};
use serde::Serialize;

use crate::{CommandOutput, Installation, Read};

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The key, as the client sends it
    key: String,
    /// The tenant of the client
    #[arg(long, value_name = "NAME")]
    tenant: TenantId,
    /// The client that sent the key
    #[arg(long, value_name = "NAME")]
    client: ClientId,
    #[command(flatten)]
    read: Read,
}

impl Show {
    /// Is done if there is an operation or a fence.
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let key = Key::parse(self.key.as_bytes(), context.key_policy)?;
        let caller = Caller { tenant: self.tenant, client: self.client };
        let records = records_of(&mut context.database.connection().await?, &caller, &key).await?;
        let operations: Vec<KeyOperation> = records.data.iter().map(KeyOperation::of).collect();
        let fenced_at = records.fenced_at.map(to_rfc3339);
        let none = "the client has not used this key, or its transaction has not committed";
        let fenced = "the client has fenced this key, and no command was executed under it";
        let sentence = match (operations.is_empty(), &fenced_at) {
            (true, None) => none,
            (true, Some(_)) => fenced,
            (false, _) => "",
        };
        let is_known = !operations.is_empty() || fenced_at.is_some();
        Ok(self.read.output(is_known, sentence, &Report { operations, fenced_at }))
    }
}

#[derive(Serialize)]
struct Report {
    /// Oldest first.
    operations: Vec<KeyOperation>,
    /// From then on no command is executed under the key.
    fenced_at: Option<String>,
}

/// One operation of the key.
#[derive(Serialize)]
struct KeyOperation {
    operation_id: String,
    route: String,
    state: &'static str,
    /// The HTTP status of the stored response.
    status: Option<i32>,
    created_at: String,
    /// Until when a retry gets the stored response.
    expires_at: Option<String>,
}

impl KeyOperation {
    fn of(record: &KeyRecord) -> Self {
        Self {
            operation_id: record.operation_id.to_string(),
            route: format!("{} {}", record.method, record.route),
            state: record.state.into(),
            status: record.status,
            created_at: to_rfc3339(record.created_at),
            expires_at: record.expires_at.map(to_rfc3339),
        }
    }
}
