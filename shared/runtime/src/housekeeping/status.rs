//! `JobStatus`: when each housekeeping job last succeeded, on any instance.

use chrono::{DateTime, Utc};
use database::{Database, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::job_lease::job_lease;

/// The state of a housekeeping job. All instances of a service read the same.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub struct JobStatus {
    /// The name in the schedule and in the log.
    pub name: String,
    /// When the last pass began.
    pub last_started_at: DateTime<Utc>,
    /// When a pass last did everything; `None` if none has yet.
    pub last_succeeded_at: Option<DateTime<Utc>>,
    /// The error of the last pass; `None` if it succeeded.
    pub last_error: Option<String>,
    /// When the next pass may begin.
    pub due_at: DateTime<Utc>,
}

/// Reads the state of all jobs that have run, ordered by name.
///
/// # Errors
/// Database errors.
pub async fn job_status(database: &Database) -> Result<Vec<JobStatus>> {
    use job_lease as row;
    let columns = (row::name, row::last_started_at, row::last_succeeded_at, row::last_error, row::due_at);
    let jobs = row::table.select(columns).order(row::name).load(&mut database.connection().await?).await?;
    Ok(jobs)
}
