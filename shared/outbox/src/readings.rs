//! The gauges of the outbox that are read from the database: lease, depth, and blocked events. Each instance reads the same.
//!
//! A reading costs at most a fixed number of rows, however long the backlog is: it counts in a range of ids, and beyond the range it
//! subtracts ids.

use database::Connection;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double};
use diesel_async::RunQueryDsl;
use metrics::Readings;

#[derive(QueryableByName)]
struct Gauges {
    #[diesel(sql_type = BigInt)]
    unpublished: i64,
    #[diesel(sql_type = Double)]
    oldest_seconds: f64,
    #[diesel(sql_type = BigInt)]
    epoch: i64,
    #[diesel(sql_type = Double)]
    remaining_seconds: f64,
    #[diesel(sql_type = BigInt)]
    blocked: i64,
}

/// Reads the gauges of the outbox.
///
/// # Errors
/// Database errors.
pub async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
    let mut connection = connection;
    let gauges: Gauges = sql_query(include_str!("readings.sql")).get_result(&mut connection).await?;
    readings.add(
        "outbox_unpublished_events",
        "Committed events that are not published; above 2000, an estimate by ids",
        gauges.unpublished,
    );
    readings.add(
        "outbox_oldest_unpublished_seconds",
        "Age of the oldest committed event that is not published; 0 if there is none",
        gauges.oldest_seconds,
    );
    readings.add("outbox_lease_epoch", "Number of the relay's present term", gauges.epoch);
    readings.add(
        "outbox_lease_remaining_seconds",
        "Time until the relay's lease ends; 0 if no relay is active",
        gauges.remaining_seconds,
    );
    readings.add(
        "outbox_blocked_events",
        "Events that Kafka cannot take, and later events of their aggregates; counted up to 10000",
        gauges.blocked,
    );
    Ok(())
}
