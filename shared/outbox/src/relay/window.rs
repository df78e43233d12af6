//! What snapshot B sees and snapshot A did not: exactly the rows of the transactions that committed in between.
//!
//! Ids are handed out before commit, so a row with a smaller id may appear after a larger one. A reader that
//! remembers an id alone loses it; a difference of snapshots cannot.

use database::Database;
use diesel::prelude::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

use super::Fault;

#[derive(QueryableByName)]
struct Snapshot {
    #[diesel(sql_type = Text)]
    snapshot: String,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = BigInt)]
    id: i64,
}

/// The present, as PostgreSQL sees it. Later statements see at least this much.
pub(super) async fn snapshot(database: &Database) -> Result<String, Fault> {
    let mut connection = database.connection().await?;
    let now: Snapshot =
        sql_query("SELECT pg_current_snapshot()::text AS snapshot").get_result(&mut connection).await?;
    Ok(now.snapshot)
}

/// The ids of the window after `last_id`, in order, at most `limit` of them.
///
/// Not visible in A means: begun after it (first part), or open while it was taken (second part). The second part
/// keeps one long transaction from making every look a scan of all rows since its start.
pub(super) async fn ids(
    database: &Database,
    a: &str,
    b: &str,
    last_id: i64,
    limit: i64,
) -> Result<Vec<i64>, Fault> {
    const WINDOW: &str = "\
        SELECT id FROM outbox_event \
         WHERE xid >= pg_snapshot_xmax($1::pg_snapshot) AND xid < pg_snapshot_xmax($2::pg_snapshot) \
           AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND id > $3 \
        UNION ALL \
        SELECT id FROM outbox_event \
         WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip($1::pg_snapshot))) \
           AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND id > $3 \
        ORDER BY id LIMIT $4";
    let mut connection = database.connection().await?;
    let ids: Vec<Id> = sql_query(WINDOW)
        .bind::<Text, _>(a)
        .bind::<Text, _>(b)
        .bind::<BigInt, _>(last_id)
        .bind::<BigInt, _>(limit)
        .get_results(&mut connection)
        .await?;
    Ok(ids.into_iter().map(|row| row.id).collect())
}
