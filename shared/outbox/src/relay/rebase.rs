//! Compares the cursor with the server, and re-bases the cursor if transaction numbers are not comparable any more.
//!
//! A database that was restored from a dump, or a standby that was promoted, assigns transaction numbers again. Against the old
//! snapshots, new rows would count as published, and old ones as not committed yet. After a re-base, all rows that exist
//! are published again. Consumers ignore the ones that they have had. Nothing is skipped.

use database::Database;
use diesel::sql_types::BigInt;
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

use super::RelayError;
use super::cursor::Cursor;
use super::snapshot::{self, Snapshot, TakenSnapshot};

define_sql_function! {
    /// The server and the database: what a dump does not restore, and what a promotion changes.
    fn outbox_server() -> Text;
}

define_sql_function! {
    /// Re-bases the cursor of this epoch.
    fn outbox_rebase(relay_epoch: BigInt) -> Nullable<BigInt>;
}

/// Loads the cursor. Re-bases it first if it belongs to another server or timeline, or to greater transaction numbers. Returns
/// it with a timeline: if it is not that of a later look, the server has changed since.
pub(super) async fn load_cursor(database: &Database, epoch: i64) -> Result<(Cursor, String), RelayError> {
    let TakenSnapshot { text, timeline, .. } = snapshot::take(database, false).await?;
    let now = Snapshot { text, floor_id: 0, next_xid: 0 };
    let (mut cursor, server) = (Cursor::load(database).await?, current_server(database).await?);
    if cursor.server.is_empty() {
        cursor.server.clone_from(&server);
        let mut tx = database.begin().await?;
        cursor.write(&mut tx, epoch).await?;
        tx.commit().await?;
    }
    let went_back =
        [Some(&cursor.a), cursor.b.as_ref()].into_iter().flatten().any(|s| now.went_back_behind(s));
    if cursor.server == server && !went_back {
        return Ok((cursor, timeline));
    }
    let restored = rebase(database, epoch).await?;
    let before = cursor.server;
    tracing::warn!(
        before,
        server,
        restored,
        "OutboxRebased: the database was restored or promoted; the relay publishes the rows up to this id again, and consumers \
         ignore duplicates"
    );
    Ok((Cursor::load(database).await?, timeline))
}

/// Sets the cursor before the first row. Returns the greatest id, up to which all rows are published again.
async fn rebase(database: &Database, epoch: i64) -> Result<i64, RelayError> {
    let restored: Option<i64> =
        select(outbox_rebase(epoch)).get_result(&mut database.connection().await?).await?;
    restored.ok_or(RelayError::Replaced)
}

async fn current_server(database: &Database) -> database::Result<String> {
    Ok(select(outbox_server()).get_result(&mut database.connection().await?).await?)
}
