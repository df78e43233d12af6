//! The metrics of the pools, and the gauges of the database as a whole: its size and its oldest transaction.

use database::{Connection, PoolStatus};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double, Nullable};
use diesel_async::RunQueryDsl;
use metrics::{Number, Readings, Registry, Sample, register_gauges};

use crate::pools::Pools;

/// Registers the gauges of the pools.
pub(super) fn register(pools: &Pools, registry: &mut Registry) {
    let each = |of: fn(&'static str, PoolStatus) -> Vec<Sample>| {
        let pools = pools.clone();
        move || pools.named().into_iter().flat_map(|(name, pool)| of(name, pool.pool_status())).collect()
    };
    let help = "Open connections of the pool";
    let by_state = each(|pool, status| {
        let in_state = |state, connections| {
            let mut sample = Sample::labelled("pool", pool, number(connections));
            sample.labels.push(("state", String::from(state)));
            sample
        };
        vec![in_state("in_use", status.in_use), in_state("idle", status.idle)]
    });
    register_gauges(registry, "database_connections", help, by_state);
    let help = "Largest number of connections of the pool";
    let limit = each(|pool, status| vec![Sample::labelled("pool", pool, number(status.most))]);
    register_gauges(registry, "database_connections_limit", help, limit);
    let help = "Callers that wait for a connection of the pool";
    let waiting = each(|pool, status| vec![Sample::labelled("pool", pool, number(status.waiting))]);
    register_gauges(registry, "database_waiting_callers", help, waiting);
}

fn number(number: usize) -> Number {
    Number::Whole(i64::try_from(number).unwrap_or(i64::MAX))
}

const DATABASE: &str = "\
    SELECT pg_database_size(current_database()) AS bytes, oldest_transaction_seconds() AS oldest_seconds";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    bytes: i64,
    /// `None` if the owner of the database may not see the sessions of other roles.
    #[diesel(sql_type = Nullable<Double>)]
    oldest_seconds: Option<f64>,
}

/// Reads the gauges of the database.
pub(super) async fn read_metrics(connection: &Connection, readings: &mut Readings) -> database::Result<()> {
    let mut connection = connection;
    let Row { bytes, oldest_seconds } = sql_query(DATABASE).get_result(&mut connection).await?;
    readings.add("database_size_bytes", "Size of the service's database", bytes);
    if let Some(seconds) = oldest_seconds {
        let help = "Age of the oldest open transaction in the service's database, of any role";
        readings.add("database_oldest_transaction_seconds", help, seconds);
    }
    Ok(())
}
