//! The gauges of orders that are read from the database: the open orders.

use database::{Connection, Result};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double};
use diesel_async::RunQueryDsl;
use metrics::{Readings, Sample};

use crate::domain::Status;

/// Reads the partial index of open orders, up to a limit. All orders have the same time to expiry, so those that expire first are
/// the oldest.
const OPEN: &str = "\
    SELECT count(*) FILTER (WHERE state = 'pending') AS pending, \
           count(*) FILTER (WHERE state = 'awaiting_payment') AS awaiting_payment, \
           coalesce(extract(epoch FROM clock_timestamp() - min(placed_at)), 0)::float8 AS oldest_seconds \
      FROM (SELECT state, placed_at FROM orders WHERE is_open ORDER BY expires_at, id LIMIT 10000) AS open";

#[derive(QueryableByName)]
struct OpenOrders {
    #[diesel(sql_type = BigInt)]
    pending: i64,
    #[diesel(sql_type = BigInt)]
    awaiting_payment: i64,
    #[diesel(sql_type = Double)]
    oldest_seconds: f64,
}

/// Reads the gauges of orders.
pub(crate) async fn read_metrics(connection: &Connection, readings: &mut Readings) -> Result<()> {
    let mut connection = connection;
    let OpenOrders { pending, awaiting_payment, oldest_seconds } =
        sql_query(OPEN).get_result(&mut connection).await?;
    let sample = |state: Status, orders| Sample::labelled("state", <&'static str>::from(state), orders);
    readings.add_all(
        "orders_open",
        "Orders that are neither confirmed nor cancelled; counted up to 10000",
        [sample(Status::Pending, pending), sample(Status::AwaitingPayment, awaiting_payment)],
    );
    readings.add(
        "orders_oldest_open_seconds",
        "Age of the oldest open order; 0 if there is none",
        oldest_seconds,
    );
    Ok(())
}
