//! Compares the cursor with the server, and re-bases the cursor if transaction numbers are not comparable any more.
//!
//! A database that was restored from a dump, or a standby that was promoted, assigns transaction numbers again. Against the old
//! snapshots, new rows would count as published, and old ones as not committed yet. After a re-base, all rows that exist
//! are published again. Consumers ignore the ones that they have had. Nothing is skipped.

use database::Database;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::RunQueryDsl;

use super::RelayError;
use super::cursor::Cursor;
use super::snapshot::{self, Snapshot};

/// Loads the cursor. Re-bases it first if it belongs to another server or timeline, or to greater transaction numbers.
pub(super) async fn load_cursor(database: &Database, epoch: i64) -> Result<Cursor, RelayError> {
    let (mut cursor, server) = (Cursor::load(database).await?, current_server(database).await?);
    let now = snapshot::take(database, false).await?;
    let now = Snapshot { text: now.text, floor_id: 0, next_xid: 0 };
    if cursor.server.is_empty() {
        cursor.server.clone_from(&server);
        let mut tx = database.begin().await?;
        cursor.write(&mut tx, epoch).await?;
        tx.commit().await?;
    }
    let went_back =
        [Some(&cursor.a), cursor.b.as_ref()].into_iter().flatten().any(|s| now.went_back_behind(s));
    if cursor.server == server && !went_back {
        return Ok(cursor);
    }
    let restored = rebase(database, epoch, &server).await?;
    let before = cursor.server;
    tracing::warn!(
        before,
        server,
        restored,
        "OutboxRebased: the database was restored or promoted; the relay publishes the rows up to this id again, and consumers \
         ignore duplicates"
    );
    Ok(Cursor::load(database).await?)
}

/// The system identifier and the timeline of the server. A dump restores neither; a promotion changes the timeline.
async fn current_server(database: &Database) -> database::Result<String> {
    #[derive(QueryableByName)]
    struct Server {
        #[diesel(sql_type = Text)]
        name: String,
    }
    const SERVER: &str = "\
        SELECT format('%s/%s', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8)) AS name \
          FROM pg_control_system()";
    let server: Server = sql_query(SERVER).get_result(&mut database.connection().await?).await?;
    Ok(server.name)
}

/// Sets the cursor before the first row. Returns the greatest id, up to which all rows are published again.
async fn rebase(database: &Database, epoch: i64, server: &str) -> Result<i64, RelayError> {
    #[derive(QueryableByName)]
    struct Rebased {
        #[diesel(sql_type = Nullable<BigInt>)]
        restored: Option<i64>,
    }
    let rebased: Rebased = sql_query("SELECT outbox_rebase($1, $2) AS restored")
        .bind::<BigInt, _>(epoch)
        .bind::<Text, _>(server)
        .get_result(&mut database.connection().await?)
        .await?;
    rebased.restored.ok_or(RelayError::Replaced)
}
