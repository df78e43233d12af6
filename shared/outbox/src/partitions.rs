//! Days are made ahead of time, so that the log's present is always a partition that can be dropped whole later.

use database::{Database, Result};
use diesel::define_sql_function;
use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// Runs as the owner: the service itself may create nothing.
    fn outbox_make_partitions(days_ahead: Integer) -> Integer;
}

/// How far ahead: a job that is away for a week still does no harm, and behind it stands the DEFAULT partition.
const DAYS_AHEAD: i32 = 7;

/// Makes the partitions of today and the next seven days; returns how many were new. Safe to repeat.
pub async fn make_partitions(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    Ok(diesel::select(outbox_make_partitions(DAYS_AHEAD)).get_result(&mut connection).await?)
}
