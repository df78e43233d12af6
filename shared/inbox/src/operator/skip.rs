//! `skip`: lets a consumer continue behind records that Kafka's client cannot read.
//!
//! Only records where the consumer waits now can be skipped. Messages of the lost aggregates are then held until the missing
//! ones are published again.

use audit::{Fact, Operator};
use clap::Args;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use messaging::admin;
use serde::Serialize;
use serde_json::json;

use super::{CommandOutput, OperatorContext, OperatorError};
use crate::stopped::{UNREADABLE, inbox_stopped_partition};

/// The arguments.
#[derive(Debug, Args)]
pub struct Skip {
    /// The topic, with its prefix
    topic: String,
    /// The partition
    partition: i32,
    /// The offset where the consumer waits, as `inbox stopped` names it
    offset: i64,
    #[command(flatten)]
    operator: Operator,
    /// Print where the consumer would continue, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    topic: String,
    partition: i32,
    offset: i64,
    /// The first offset that the consumer reads again.
    continue_at: Option<i64>,
    /// Why nothing is skipped.
    refused: Option<String>,
}

impl Skip {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let brokers = context.brokers.as_ref().ok_or(OperatorError::NoBrokers)?;
        let Self { ref topic, partition, offset, .. } = self;
        let mut report = Report {
            dry_run: self.dry_run,
            topic: topic.clone(),
            partition,
            offset,
            continue_at: None,
            refused: None,
        };
        let next = admin::next_readable(brokers, topic, partition, offset).await?;
        if next == offset {
            report.refused = Some("the record can be read".to_owned());
        } else {
            report.continue_at = Some(next);
            if !self.dry_run && !self.skip(context, next).await? {
                report.refused =
                    Some("the consumer does not wait there; `inbox stopped` shows where it waits".to_owned());
            }
        }
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    /// Returns false if the consumer does not wait at this record.
    async fn skip(&self, context: &OperatorContext, next: i64) -> Result<bool, OperatorError> {
        let consumer = context.consumer.name();
        let mut tx = context.database.begin().await?;
        let waiting = inbox_stopped_partition::table
            .find((consumer, &self.topic, self.partition))
            .filter(inbox_stopped_partition::cause.eq(UNREADABLE))
            .filter(inbox_stopped_partition::record_offset.eq(self.offset));
        let changed =
            diesel::update(waiting).set(inbox_stopped_partition::skip_to.eq(next)).execute(&mut tx).await?;
        if changed == 0 {
            tx.rollback().await?;
            return Ok(false);
        }
        let subject = format!("{}/{}", self.topic, self.partition);
        let fact = Fact::by_operator(&self.operator, None, "inbox.skip", "partition", subject);
        let details = json!({ "consumer": consumer, "offset": self.offset, "continue_at": next });
        audit::record(&mut tx, fact.with(details));
        tx.commit().await?;
        Ok(true)
    }
}

impl Report {
    fn text(&self) -> String {
        let Self { topic, partition, offset, .. } = self;
        match (&self.refused, self.continue_at) {
            (Some(refused), _) => format!("not skipped: {topic}/{partition}, offset {offset}: {refused}\n"),
            (None, Some(next)) if self.dry_run => {
                format!("{topic}/{partition} would continue at offset {next}: nothing was changed\n")
            }
            (None, Some(next)) => format!(
                "{topic}/{partition} continues at offset {next} within seconds; the records {offset} to {} are skipped. Publish \
                 them again: `inbox parked` shows messages that are held because of them\n",
                next - 1
            ),
            (None, None) => String::new(),
        }
    }
}
