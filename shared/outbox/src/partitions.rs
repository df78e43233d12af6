//! Creates the daily partitions of the outbox ahead of time.
//!
//! Retention drops whole days. A row whose day has no partition falls into the default partition and is published like any
//! other; only retention by day does not reach it.

use database::{Database, Result};
use diesel::define_sql_function;
use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// Runs with the rights of its owner, because the service's role may not create tables.
    fn outbox_make_partitions(days_ahead: Integer) -> Integer;
}

/// The number of days ahead. If the hourly job does not run for a week, every row still has its partition.
const DAYS_AHEAD: i32 = 7;

/// Creates the missing partitions of today and the next seven days. Returns how many it created. May be repeated, also by
/// several instances at once.
pub async fn make_partitions(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    Ok(diesel::select(outbox_make_partitions(DAYS_AHEAD)).get_result(&mut connection).await?)
}
