//! `outbox status`: shows the relay, its cursor, the backlog, and the days of the outbox.
//!
//! It reads the database alone. It therefore also works while no relay runs.

use std::error::Error;

use clap::Args;
use serde_json::Value;

use crate::{CommandOutput, Installation, Read, query};

/// The arguments.
#[derive(Debug, Args)]
pub struct Status {
    #[command(flatten)]
    read: Read,
}

impl Status {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let mut connection = context.database.connection().await?;
        let status = query(&mut connection, include_str!("status.sql"), &Value::Null).await?;
        Ok(self.read.output(true, "", &status.first()))
    }
}
