//! `outbox republish`: publishes messages again that the relay has published, with the same key, headers and bytes.

use std::error::Error;

use ::outbox::{PublishedEvents, Republish as Events, RepublishPlan};
use chrono::{DateTime, Utc};
use clap::Args;
use database::time::{from_rfc3339, to_rfc3339};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Change, CommandOutput, Installation, Report as Row, query};

/// The arguments.
#[derive(Debug, Args)]
pub struct Republish {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    change: Change,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Selection {
    /// Every message since this time (RFC 3339, such as 2026-11-20T08:00:00Z)
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<DateTime<Utc>>,
    /// Every message of this aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
}

fn parse_time(text: &str) -> Result<DateTime<Utc>, &'static str> {
    from_rfc3339(text).ok_or("must be RFC 3339, such as 2026-11-20T08:00:00Z")
}

#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    plan: &'a RepublishPlan,
    /// The time of the first row of the outbox.
    rows_since: Option<String>,
    /// The days whose messages cannot be published again.
    dropped: Option<&'a Row>,
}

impl Selection {
    /// The events, and their name in the audit fact. Clap accepts exactly one of the arguments.
    fn events(&self) -> Result<(PublishedEvents, String), Box<dyn Error>> {
        match (self.since, self.aggregate) {
            (Some(time), _) => Ok((PublishedEvents::Since(time), to_rfc3339(time))),
            (_, Some(id)) => Ok((PublishedEvents::Aggregate(id), id.to_string())),
            (None, None) => Err("one of --since and --aggregate is needed".into()),
        }
    }
}

impl Republish {
    pub(super) fn needs_kafka(&self) -> bool {
        !self.change.is_dry_run()
    }

    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let database = &context.database;
        let (events, subject) = self.selection.events()?;
        let events = Events::find(database, events).await?;
        let plan = &events.plan;
        if self.needs_kafka() && plan.first.is_some() {
            let record_fact = async || {
                let tenant = events.tenant()?;
                let fact = self.change.fact(tenant.as_ref(), "outbox.republish", "outbox", &subject);
                let mut tx = database.begin().await?;
                audit::record(&mut tx, fact.with(json!(plan)));
                Ok::<_, Box<dyn Error>>(tx.commit().await?)
            };
            let progress = |done| eprintln!("{done} of {} messages", plan.messages);
            events.send(context.brokers()?, &context.topics, record_fact, progress).await?;
        }
        let dropped =
            query(&mut database.connection().await?, include_str!("dropped.sql"), &Value::Null).await?;
        let rows_since = events.rows_since.map(to_rfc3339);
        let report = Report { plan, rows_since, dropped: dropped.first() };
        Ok(self.change.output(true, "", &report))
    }
}
