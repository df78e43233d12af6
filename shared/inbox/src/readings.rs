//! The gauges of the inbox that are read from the database: waiting messages. Each instance reads the same.

use database::Connection;
use diesel::prelude::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double};
use diesel_async::RunQueryDsl;
use metrics::{Readings, Sample};

use crate::parking::{HELD, PARKED};

/// Counts up to a limit, so that the cost is bounded. A message that is held behind a parked one is not missing its predecessor.
const WAITING: &str = "\
    SELECT count(*) FILTER (WHERE state = 'parked') AS parked, count(*) FILTER (WHERE state = 'held') AS held, \
           coalesce(extract(epoch FROM clock_timestamp() - min(parked_at) FILTER (WHERE NOT is_behind_parked)), 0)::float8 AS oldest \
      FROM (SELECT state, parked_at, bool_or(state = 'parked') OVER (PARTITION BY consumer, source, aggregate_id) AS is_behind_parked \
              FROM (SELECT consumer, source, aggregate_id, state, parked_at FROM inbox_parked LIMIT 10000) AS few) AS waiting";

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = BigInt)]
    parked: i64,
    #[diesel(sql_type = BigInt)]
    held: i64,
    #[diesel(sql_type = Double)]
    oldest: f64,
}

/// Reads the gauges of the inbox.
///
/// # Errors
/// Database errors.
pub async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
    let mut connection = connection;
    let Waiting { parked, held, oldest } = sql_query(WAITING).get_result(&mut connection).await?;
    readings.add_all(
        "inbox_waiting_messages",
        "Messages that wait for an operator (parked) or for an earlier message (held); counted up to 10000",
        [(PARKED, parked), (HELD, held)].map(|(state, number)| Sample::labelled("state", state, number)),
    );
    let help = "Age of the oldest held message of an aggregate without a parked one; 0 if there is none";
    readings.add("inbox_oldest_held_seconds", help, oldest);
    Ok(())
}
