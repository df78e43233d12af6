//! `JobStatus`: when each housekeeping job last succeeded, on any instance.

use chrono::{DateTime, Utc};
use database::functions::clock_timestamp;
use database::{Connection, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::job_lease::job_lease;

/// The state of a housekeeping job. All instances of a service read the same.
#[derive(Debug, Clone, PartialEq, Eq, Queryable)]
pub(crate) struct JobStatus {
    /// The name in the schedule and in the log.
    pub(crate) name: String,
    /// When a pass last did everything; `None` if none has yet.
    pub(crate) last_succeeded_at: Option<DateTime<Utc>>,
    /// The error of the last pass; `None` if it succeeded.
    pub(crate) last_error: Option<String>,
    /// The time of the reading, by the database's clock.
    pub(crate) read_at: DateTime<Utc>,
}

/// Reads the state of all jobs that have run, ordered by name.
///
/// # Errors
/// Database errors.
pub(crate) async fn job_status(connection: &Connection) -> Result<Vec<JobStatus>> {
    use job_lease as row;
    let mut connection = connection;
    let columns = (row::name, row::last_succeeded_at, row::last_error, clock_timestamp());
    Ok(row::table.select(columns).order(row::name).load(&mut connection).await?)
}
