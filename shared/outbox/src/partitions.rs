//! Creates the daily partitions of the outbox ahead of time.
//!
//! Retention drops whole days. A row whose day has no partition falls into the default partition and is published like any
//! other; only retention by day does not reach it.

use database::{Database, Error, Result, attempt_again};
use diesel::define_sql_function;
use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

define_sql_function! {
    /// Runs with the rights of its owner, because the service's role may not create tables.
    fn outbox_make_partitions(days_ahead: Integer) -> Integer;
}

/// The number of days ahead. If the hourly job does not run for a week, every row still has its partition.
const DAYS_AHEAD: i32 = 7;

/// Creates the missing partitions of today and the next seven days. Returns how many it created; 0 if another instance is
/// creating them, or if `stop` is cancelled. May be repeated.
///
/// # Errors
/// Database errors; [`Error::Contention`] if open writers kept it waiting in each attempt, for at least ten seconds.
pub async fn make_partitions(database: &Database, stop: &CancellationToken) -> Result<i32> {
    // An attempt waits 50 ms for open writers, because new writers wait behind it. So it may take several.
    Ok(attempt_again(stop, || attempt(database)).await?.unwrap_or(0))
}

async fn attempt(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    let made = diesel::select(outbox_make_partitions(DAYS_AHEAD)).get_result(&mut connection);
    made.await.map_err(Error::from)
}
