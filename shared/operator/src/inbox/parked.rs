//! `inbox parked`: lists the waiting messages with their errors, and how many are held behind each.

use std::collections::BTreeMap;
use std::error::Error;

use clap::Args;
use serde_json::json;
use uuid::Uuid;

use crate::{CommandOutput, Installation, Read, query};

pub(super) const PARKED: &str = include_str!("parked.sql");

/// The arguments.
#[derive(Debug, Args)]
pub struct Parked {
    /// Only messages of this aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
    #[command(flatten)]
    read: Read,
}

impl Parked {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let which = json!({ "consumer": context.consumer()?.name(), "aggregate": self.aggregate });
        let messages = query(&mut context.database.connection().await?, PARKED, &which).await?;
        let sentence = if messages.is_empty() { "no message waits" } else { "" };
        Ok(self.read.output(true, sentence, &BTreeMap::from([("messages", messages)])))
    }
}
