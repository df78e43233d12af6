//! Whether the database is an earlier one: restored from a backup, or promoted.
//!
//! Its rows do not show the work between the backup and the restore, for instance requests to other systems.

use chrono::{DateTime, Utc};
use database::Tx;
use diesel::sql_types::Timestamptz;
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// The cursor names another server, or was found to do so after this time.
    fn outbox_restored_since(since: Timestamptz) -> Bool;
}

/// Returns whether the database was restored or promoted after `time`.
///
/// A standby that lags is promoted with its last rows missing, and is seen by its new timeline. A dump is seen by the server or the
/// database that it was restored into.
///
/// # Errors
/// Database errors.
pub async fn is_restored_since(tx: &mut Tx, time: DateTime<Utc>) -> database::Result<bool> {
    Ok(select(outbox_restored_since(time)).get_result(tx).await?)
}
