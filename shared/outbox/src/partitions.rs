//! Creates the daily partitions of the outbox ahead of time.
//!
//! Retention drops whole days. A row whose day has no partition falls into the default partition and is published like any
//! other; only retention by day does not reach it.

use std::time::Duration;

use database::{Database, Error, ErrorClass, Result};
use diesel::define_sql_function;
use diesel::sql_types::Integer;
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// Runs with the rights of its owner, because the service's role may not create tables.
    fn outbox_make_partitions(days_ahead: Integer) -> Integer;
}

/// The number of days ahead. If the hourly job does not run for a week, every row still has its partition.
const DAYS_AHEAD: i32 = 7;

/// An attempt waits 50 ms for open writers, because new writers wait behind it. So it may take several.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(200);

/// Creates the missing partitions of today and the next seven days. Returns how many it created; 0 if another instance is
/// creating them. May be repeated.
///
/// # Errors
/// Database errors; [`Error::Contention`] if open writers kept it waiting in each attempt, for at least ten seconds.
pub async fn make_partitions(database: &Database) -> Result<i32> {
    for _ in 1..ATTEMPTS {
        match attempt(database).await {
            Err(error) if error.class() == ErrorClass::Contention => tokio::time::sleep(PAUSE).await,
            made => return made,
        }
    }
    attempt(database).await
}

async fn attempt(database: &Database) -> Result<i32> {
    let mut connection = database.connection().await?;
    let made = diesel::select(outbox_make_partitions(DAYS_AHEAD)).get_result(&mut connection);
    made.await.map_err(Error::from)
}
