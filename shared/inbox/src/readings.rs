//! The gauge of the inbox that is read from the database: waiting messages. Each instance reads the same.

use database::Connection;
use diesel::prelude::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;
use metrics::{Readings, Sample};

use crate::parking::{HELD, PARKED};

/// Counts up to a limit, so that the cost is bounded.
const WAITING: &str = "\
    SELECT state, count(*) AS messages FROM (SELECT state FROM inbox_parked LIMIT 10000) AS waiting GROUP BY state";

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = BigInt)]
    messages: i64,
}

/// Reads the gauge of the inbox.
///
/// # Errors
/// Database errors.
pub async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
    let mut connection = connection;
    let waiting: Vec<Waiting> = sql_query(WAITING).load(&mut connection).await?;
    let number = |state| waiting.iter().find(|row| row.state == state).map_or(0, |row| row.messages);
    readings.add_all(
        "inbox_waiting_messages",
        "Messages that wait for an operator (parked) or for an earlier message (held); counted up to 10000",
        [PARKED, HELD].map(|state| Sample::labelled("state", state, number(state))),
    );
    Ok(())
}
