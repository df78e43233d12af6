//! `outbox republish`: lets the relay publish messages again, with the same key, headers and bytes.

use std::error::Error;

use ::outbox::{PublishedEvents, Republication};
use chrono::{DateTime, Utc};
use clap::Args;
use database::Tx;
use database::time::{from_rfc3339, to_rfc3339};
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{Change, CommandOutput, Installation, Outcome, Report as Row, query};

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
struct Report {
    #[serde(flatten)]
    republication: Republication,
    /// The time of the first row of the outbox.
    rows_since: Option<String>,
    /// The days whose messages cannot be published again.
    dropped: Option<Row>,
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
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let (events, subject) = self.selection.events()?;
        let mut connection = context.database.connection().await?;
        let dropped = query(&mut connection, include_str!("dropped.sql"), &Value::Null).await?.pop();
        drop(connection);
        let republish = async |tx: &mut Tx| -> database::Result<Outcome<Report>> {
            let republication = ::outbox::republish(tx, events, &self.change.operator().actor()).await?;
            let rows_since = republication.rows_since.map(to_rfc3339);
            let tenant = republication.tenant.as_deref().and_then(|name| name.parse().ok());
            let fact = self.change.fact(tenant.as_ref(), "outbox.republish", "outbox", &subject);
            let fact = fact.with(json!(republication));
            let is_empty = republication.messages == 0;
            let report = Report { republication, rows_since, dropped };
            Ok(if is_empty { Outcome::unchanged(report, "") } else { Outcome::changed(report, "", fact) })
        };
        Ok(self.change.run(&context.database, republish).await?)
    }
}
