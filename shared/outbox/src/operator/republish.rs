//! `republish`: sends again what was sent before, as it was: the same key, headers and bytes, in the order of ids.
//!
//! Consumers know ids and sequences, so nothing takes effect again; only who never had it, for instance because a
//! topic was lost, learns something new. So it may be repeated, and the worst that a needless one does is work.

use std::fmt;

use audit::{Fact, Operator};
use clap::Args;
use contracts::TenantId;
use database::Database;
use database::time::to_rfc3339;
use serde::Serialize;
use serde_json::json;

use super::published::{First, Published, Wanted};
use super::sending::Sending;
use super::words::Number;
use super::{CommandOutput, OperatorContext, OperatorError};

/// The arguments.
#[derive(Debug, Args)]
pub struct Republish {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    operator: Operator,
    /// Tell what would be published again, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Republish {
    /// Whether it publishes.
    pub(super) fn needs_kafka(&self) -> bool {
        !self.dry_run
    }

    pub(super) async fn run(
        self,
        context: &OperatorContext,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<CommandOutput, OperatorError> {
        let database = &context.database;
        let published = Published::find(database, &self.wanted).await?;
        let plan = Plan::make(&published).await?;
        if !self.dry_run
            && let Some(first) = &plan.first
        {
            let sending = Sending::prepare(context, plan.messages).await?;
            self.record(database, &plan, first).await?;
            sending.send(&published, tell).await?;
        }
        let rows_since = published.oldest.map(to_rfc3339);
        let report = Report { dry_run: self.dry_run, plan, rows_since };
        Ok(CommandOutput::new(self.json, true, &report, Report::to_string))
    }

    /// The fact stands before the first message goes out, so a run that is killed half-way is known, too.
    async fn record(&self, database: &Database, plan: &Plan, first: &First) -> Result<(), OperatorError> {
        // An aggregate is one tenant's; a stretch of time is everybody's.
        let tenant: Option<TenantId> = match self.wanted.aggregate {
            Some(_) => first.tenant_id.parse().ok(),
            None => None,
        };
        let subject = self.wanted.to_string();
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
    /// When the first row of the log was written: what was told before is there no more.
    rows_since: Option<String>,
}

/// What is to be sent. The log is append-only and the cursor was read once, so counting first and sending then sees
/// the same rows.
#[derive(Serialize)]
struct Plan {
    messages: u64,
    /// Where it begins.
    first: Option<First>,
    last_id: Option<i64>,
}

impl Plan {
    async fn make(published: &Published) -> Result<Self, OperatorError> {
        let (mut messages, mut first, mut last_id) = (0, None, None);
        for after in published.strides() {
            let ids = published.ids(after).await?;
            messages += u64::try_from(ids.len()).unwrap_or(u64::MAX);
            first = first.or(ids.first().copied());
            last_id = ids.last().copied().or(last_id);
        }
        let first = match first {
            Some(id) => published.first(id).await?,
            None => None,
        };
        Ok(Self { messages, first, last_id })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dry_run, plan, rows_since } = self;
        match (&plan.first, plan.last_id) {
            (Some(first), Some(last)) => {
                let done = if *dry_run { "would be published again" } else { "are published again" };
                let First { id, sequence, .. } = first;
                writeln!(f, "{} messages {done}: rows {id} to {last}", Number(plan.messages))?;
                if *sequence > 1 {
                    writeln!(f, "the first is number {sequence} of its aggregate")?;
                }
            }
            _ => writeln!(
                f,
                "nothing to publish again; what the relay has not published yet, it will (see outbox status)"
            )?,
        }
        match rows_since {
            Some(moment) => {
                writeln!(f, "the outbox has rows since {moment}; what was told before has expired")
            }
            None => writeln!(f, "the outbox has no rows"),
        }
    }
}
