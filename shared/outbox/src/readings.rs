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

/// Counts rows behind the position and rows of the gaps, beside the lease and the blocked events.
///
/// A range of ids, because a LIMIT bounds the result only: on a table without statistics, PostgreSQL reads all rows and sorts them.
const GAUGES: &str = "\
    WITH relay AS (SELECT position, gaps, coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0) AS drawn_id \
                     FROM outbox_cursor), \
    unpublished AS ( \
        SELECT event.created_at FROM relay JOIN outbox_event AS event \
            ON event.id > relay.position AND event.id <= relay.position + 2000 \
        UNION ALL \
        (SELECT event.created_at FROM relay CROSS JOIN LATERAL unnest(relay.gaps) AS gap \
           JOIN outbox_event AS event ON event.id >= lower(gap) AND event.id < upper(gap) LIMIT 1000) \
    ) \
    SELECT CASE WHEN relay.drawn_id <= relay.position + 2000 THEN counted.events \
                ELSE relay.drawn_id - relay.position END AS unpublished, oldest_seconds, epoch, \
           CASE WHEN isfinite(lease_until) \
                THEN greatest(extract(epoch FROM lease_until - clock_timestamp()), 0)::float8 \
                ELSE 0 END AS remaining_seconds, \
           (SELECT count(*) FROM (SELECT FROM outbox_blocked LIMIT 10000) AS limited) AS blocked \
      FROM relay CROSS JOIN outbox_lease CROSS JOIN ( \
           SELECT count(*) AS events, \
                  coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest_seconds \
             FROM unpublished) AS counted";

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
    let gauges: Gauges = sql_query(GAUGES).get_result(&mut connection).await?;
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
