//! `stopped`: lists the partitions where the consumer waits for an operator.

use clap::Args;
use database::time::to_rfc3339;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;

use super::table::{printable, table};
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::stopped::{StoppedPartition, inbox_stopped_partition, waiting_now};

/// The arguments.
#[derive(Debug, Args)]
pub struct Stopped {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    partitions: Vec<ListedPartition>,
}

#[derive(Serialize)]
struct ListedPartition {
    topic: String,
    partition: i32,
    offset: i64,
    cause: String,
    error: String,
    seen_at: String,
}

impl Stopped {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let rows: Vec<StoppedPartition> = waiting_now()
            .filter(inbox_stopped_partition::consumer.eq(context.consumer.name()))
            .order((inbox_stopped_partition::topic, inbox_stopped_partition::partition))
            .select(StoppedPartition::as_select())
            .load(&mut context.database.connection().await?)
            .await?;
        let partitions = rows.into_iter().map(|row| ListedPartition {
            topic: row.topic,
            partition: row.partition,
            offset: row.record_offset,
            cause: row.cause,
            error: printable(&row.error),
            seen_at: to_rfc3339(row.seen_at),
        });
        let report = Report { partitions: partitions.collect() };
        Ok(CommandOutput::new(self.json, true, &report, Report::text))
    }
}

impl Report {
    fn text(&self) -> String {
        if self.partitions.is_empty() {
            return "no partition waits\n".to_owned();
        }
        let rows = self.partitions.iter().map(|row| {
            let place = [row.topic.clone(), row.partition.to_string(), row.offset.to_string()];
            place.into_iter().chain([row.cause.clone(), row.seen_at.clone(), row.error.clone()]).collect()
        });
        table(&["topic", "partition", "offset", "cause", "last seen", "error"], &rows.collect::<Vec<_>>())
    }
}
