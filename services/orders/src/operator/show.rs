//! `orders show`: an order of any tenant, as the database has it, and its timeline.

use clap::Args;
use database::{Database, Result};
use operators::{CommandOutput, Read, query};
use serde_json::json;
use uuid::Uuid;

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The order, or its payment
    order_id: Uuid,
    #[command(flatten)]
    read: Read,
}

impl Show {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput> {
        let which = json!({ "order_id": self.order_id });
        let found = query(&mut database.connection().await?, include_str!("show.sql"), &which).await?;
        let [order] = &found[..] else { return Ok(not_found(self.order_id)) };
        Ok(self.read.output(true, "", order))
    }
}

pub(super) fn not_found(order: Uuid) -> CommandOutput {
    CommandOutput::not_found(format!("there is no order {order}"))
}
