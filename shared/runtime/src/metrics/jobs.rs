//! The gauges of the housekeeping jobs, from their leases. Each instance reads the same.

use database::{Connection, Result};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Double, Nullable, Text};
use diesel_async::RunQueryDsl;
use metrics::{Readings, Sample};

const JOBS: &str = "\
    SELECT name, last_error IS NOT NULL AS is_failing, \
           extract(epoch FROM clock_timestamp() - last_succeeded_at)::float8 AS since_success \
      FROM job_lease ORDER BY name";

#[derive(QueryableByName)]
struct Job {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Bool)]
    is_failing: bool,
    #[diesel(sql_type = Nullable<Double>)]
    since_success: Option<f64>,
}

/// Reads the gauges of the jobs that have run.
pub(super) async fn read_metrics(connection: &Connection, readings: &mut Readings) -> Result<()> {
    let mut connection = connection;
    let jobs: Vec<Job> = diesel::sql_query(JOBS).load(&mut connection).await?;
    let succeeded = |job: &Job| Some(Sample::labelled("name", job.name.as_str(), job.since_success?));
    readings.add_all(
        "job_since_success_seconds",
        "Time since the housekeeping job last did everything, on any instance",
        jobs.iter().filter_map(succeeded),
    );
    readings.add_all(
        "job_failing",
        "Whether the last run of the housekeeping job failed",
        jobs.iter().map(|job| Sample::labelled("name", job.name.as_str(), job.is_failing)),
    );
    Ok(())
}
