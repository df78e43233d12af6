//! `republish`: publishes messages again that the relay has published, with the same key, headers and bytes, ordered by id.
//!
//! Consumers ignore messages that they have had. A consumer that never had them, for instance because a topic was lost, gets
//! them now. The command may be repeated; a run that was not needed only costs work.

use std::fmt;

use audit::{Fact, Operator};
use clap::Args;
use database::Database;
use database::time::to_rfc3339;
use envelope::TenantId;
use serde::Serialize;
use serde_json::json;

use super::days::DroppedDays;
use super::format::GroupedDigits;
use super::published_rows::{FirstRow, PublishedRows, Selection};
use super::resend::Resender;
use super::{CommandOutput, OperatorContext, OperatorError};
use crate::session_lock::SessionLock;

/// The arguments.
#[derive(Debug, Args)]
pub struct Republish {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    operator: Operator,
    /// Show what would be published again, and publish nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Republish {
    pub(super) fn needs_kafka(&self) -> bool {
        !self.dry_run
    }

    pub(super) async fn run(
        self,
        context: &OperatorContext,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<CommandOutput, OperatorError> {
        let database = &context.database;
        // Retention drops no row until the end of the run.
        let kept_rows = SessionLock::keep_rows(database).await?;
        let rows = PublishedRows::find(database, &self.selection).await?;
        let plan = Plan::make(&rows).await?;
        if !self.dry_run
            && let Some(first) = &plan.first
        {
            let resender = Resender::connect(context, plan.messages).await?;
            self.record_fact(database, &plan, first).await?;
            resender.send_all(&rows, progress).await?;
        }
        let rows_since = rows.oldest.map(to_rfc3339);
        let dropped = DroppedDays::read(database).await?;
        drop(kept_rows);
        let report = Report { dry_run: self.dry_run, plan, rows_since, dropped };
        Ok(CommandOutput::new(self.json, true, &report, Report::to_string))
    }

    /// Commits the audit fact before the first message is sent. Otherwise a run that is killed would leave no fact.
    async fn record_fact(
        &self,
        database: &Database,
        plan: &Plan,
        first: &FirstRow,
    ) -> Result<(), OperatorError> {
        // An aggregate belongs to one tenant. A selection by time may contain several, so its fact names none.
        let tenant: Option<TenantId> = match self.selection.aggregate {
            Some(_) => {
                let parsed = first.tenant_id.parse();
                Some(parsed.map_err(|reason| OperatorError::InvalidRow { id: first.id, reason })?)
            }
            None => None,
        };
        let subject = self.selection.to_string();
        let fact = Fact::by_operator(&self.operator, tenant.as_ref(), "outbox.republish", "outbox", subject);
        let mut tx = database.begin().await?;
        audit::record(&mut tx, fact.with(json!(plan)));
        Ok(tx.commit().await?)
    }
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    #[serde(flatten)]
    plan: Plan,
    /// The time of the first row of the outbox.
    rows_since: Option<String>,
    /// The days whose messages cannot be published again.
    dropped: DroppedDays,
}

/// The messages to publish. Rows are never changed and the cursor is read once, so the later reads find the same rows.
#[derive(Serialize)]
struct Plan {
    messages: usize,
    first: Option<FirstRow>,
    last_id: Option<i64>,
}

impl Plan {
    async fn make(rows: &PublishedRows) -> Result<Self, OperatorError> {
        let (mut messages, mut first, mut last_id) = (0, None, None);
        for position in rows.read_positions() {
            let ids = rows.ids_after(position).await?;
            messages += ids.len();
            first = first.or(ids.first().copied());
            last_id = ids.last().copied().or(last_id);
        }
        let first = match first {
            Some(id) => rows.find_first(id).await?,
            None => None,
        };
        Ok(Self { messages, first, last_id })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dry_run, plan, rows_since, dropped } = self;
        match (&plan.first, plan.last_id) {
            (Some(first), Some(last)) => {
                let done = if *dry_run { "would be published again" } else { "were published again" };
                let FirstRow { id, sequence, .. } = first;
                writeln!(f, "{} messages {done}: rows {id} to {last}", GroupedDigits(plan.messages))?;
                if *sequence > 1 {
                    writeln!(f, "the first is number {sequence} of its aggregate")?;
                }
            }
            _ => writeln!(
                f,
                "no message to publish again: the relay has published none of the selected rows (see outbox status)"
            )?,
        }
        match rows_since {
            Some(time) => writeln!(f, "the outbox has rows since {time}")?,
            None => writeln!(f, "the outbox has no rows")?,
        }
        writeln!(f, "dropped, and not published again: {dropped}")
    }
}
