//! The auditor: asks the questions of `audits/` about the database of this service, as a command and as a job.
//!
//! Each question has a transaction of its own, which writes nothing and is rolled back. A single transaction would keep
//! vacuum from removing dead rows until the last question is answered.

mod command;
mod job;
mod metrics;

use std::time::Duration;

use audits::Question;
use database::functions::set_config;
use database::{Database, Result};
use diesel_async::RunQueryDsl;

pub(crate) use command::Audit;
pub(crate) use job::job;
pub(crate) use metrics::AuditMetrics;

/// How long one question may take. With a million payments the slowest one takes half a minute.
const LIMIT: Duration = Duration::from_mins(10);

/// Asks one question. Returns the violations; none if the invariant holds.
async fn ask(database: &Database, question: Question) -> Result<Vec<String>> {
    let mut tx = database.begin().await?;
    tx.set_statement_timeout(LIMIT).await?;
    // The sessions of a service avoid sequential scans, because their statements read few rows. A question reads whole tables.
    let settings =
        (set_config("enable_seqscan", "on", true), set_config("transaction_read_only", "on", true));
    diesel::select(settings).execute(&mut tx).await?;
    let violations = question.ask(&mut tx).await?;
    tx.rollback().await?;
    Ok(violations)
}
