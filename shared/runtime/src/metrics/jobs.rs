//! The gauges of the housekeeping jobs. Each instance reads the same.

use database::{Connection, Result};
use metrics::{Readings, Sample};

use crate::housekeeping::{JobStatus, job_status};

/// Reads the gauges of the jobs that have run.
pub(super) async fn read_metrics(connection: &Connection, readings: &mut Readings) -> Result<()> {
    let jobs = job_status(connection).await?;
    readings.add_all(
        "job_since_success_seconds",
        "Time since the housekeeping job last did everything, on any instance",
        jobs.iter().filter_map(since_success),
    );
    readings.add_all(
        "job_failing",
        "Whether the last run of the housekeeping job failed",
        jobs.iter().map(|job| Sample::labelled("name", &job.name, job.last_error.is_some())),
    );
    Ok(())
}

fn since_success(job: &JobStatus) -> Option<Sample> {
    let since = job.read_at - job.last_succeeded_at?;
    Some(Sample::labelled("name", &job.name, since.as_seconds_f64()))
}
