//! Whether the database is an earlier one: restored from a backup, or promoted.

use chrono::{DateTime, Utc};
use database::Tx;
use diesel::sql_types::Timestamptz;
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// The cursor belongs to another server, or was re-based after this time.
    fn outbox_restored_since(since: Timestamptz) -> Bool;
}

/// Returns whether the database was restored or promoted after `time`. What it did between the backup and the restore is
/// not in its rows, for instance requests to other systems.
///
/// A standby that lags is promoted with its last rows missing, and the relay sees the promotion as a new timeline. A dump is
/// seen by the server or the database that it was restored into.
pub async fn is_restored_since(tx: &mut Tx, time: DateTime<Utc>) -> database::Result<bool> {
    Ok(select(outbox_restored_since(time)).get_result(tx).await?)
}
