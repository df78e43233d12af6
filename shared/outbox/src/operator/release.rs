//! `release`: lets the relay publish the events that Kafka has refused, and the events behind them.
//!
//! The relay looks for released events every second, and publishes them in order. An event that is refused again is blocked
//! again.

use std::collections::BTreeSet;
use std::fmt;

use audit::{Fact, Operator};
use clap::Args;
use database::functions::clock_timestamp;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use uuid::Uuid;

use super::format::GroupedDigits;
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::relay::outbox_blocked;

/// The arguments.
#[derive(Debug, Args)]
pub struct Release {
    /// Release the events of this aggregate only
    #[arg(long, value_name = "ID")]
    aggregate: Option<Uuid>,
    #[command(flatten)]
    operator: Operator,
    /// Show what would be released, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Release {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut tx = context.database.begin().await?;
        let mut release = diesel::update(outbox_blocked::table)
            .set(outbox_blocked::released_at.eq(clock_timestamp().nullable()))
            .into_boxed()
            .filter(outbox_blocked::released_at.is_null());
        if let Some(aggregate) = self.aggregate {
            release = release.filter(outbox_blocked::aggregate_id.eq(aggregate));
        }
        let rows: Vec<Uuid> = release.returning(outbox_blocked::aggregate_id).get_results(&mut tx).await?;
        let aggregates = rows.iter().collect::<BTreeSet<_>>().len();
        let report = Report { dry_run: self.dry_run, messages: rows.len(), aggregates };
        if self.dry_run || rows.is_empty() {
            tx.rollback().await?;
        } else {
            let subject = self.aggregate.map_or_else(|| "all".to_owned(), |aggregate| aggregate.to_string());
            let fact = Fact::by_operator(&self.operator, None, "outbox.release", "outbox", subject);
            audit::record(&mut tx, fact.with(serde_json::json!(report)));
            tx.commit().await?;
        }
        Ok(CommandOutput::new(self.json, true, &report, Report::to_string))
    }
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    messages: usize,
    aggregates: usize,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dry_run, messages, aggregates } = self;
        if *messages == 0 {
            return writeln!(f, "no message is blocked");
        }
        let (messages, aggregates) = (GroupedDigits(*messages), GroupedDigits(*aggregates));
        if *dry_run {
            writeln!(f, "{messages} messages of {aggregates} aggregates would be released")
        } else {
            writeln!(
                f,
                "{messages} messages of {aggregates} aggregates are released; the relay publishes them now (see outbox status)"
            )
        }
    }
}
