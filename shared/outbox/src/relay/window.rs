//! What snapshot B sees and snapshot A did not: exactly the rows of the transactions that committed in between.
//!
//! Ids are handed out before commit, so a row with a smaller id may appear after a larger one. A reader that
//! remembers an id alone loses it; a difference of snapshots cannot.

use database::Database;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

use super::Fault;

/// The present, as PostgreSQL sees it. Later statements see at least this much.
pub(super) async fn snapshot(database: &Database) -> Result<String, Fault> {
    let mut connection = database.connection().await?;
    Ok(Present.get_result(&mut connection).await?)
}

/// The ids of the window after `last_id`, in order, at most `limit` of them.
pub(super) async fn ids(
    database: &Database,
    a: &str,
    b: &str,
    last_id: i64,
    limit: i64,
) -> Result<Vec<i64>, Fault> {
    let mut connection = database.connection().await?;
    let window = Window { a: a.to_owned(), b: b.to_owned(), last_id, limit };
    Ok(window.load(&mut connection).await?)
}

// Fragments, because `sql_query` is never kept prepared: planned anew for each look, the window over all partitions cost
// ten times its execution (measured).

#[derive(QueryId)]
struct Present;

impl Query for Present {
    type SqlType = Text;
}

impl QueryFragment<Pg> for Present {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_current_snapshot()::text");
        Ok(())
    }
}

/// Not visible in A means: begun after it (first part), or open while it was taken (second part). The second part
/// keeps one long transaction from making every look a scan of all rows since its start.
#[derive(QueryId)]
struct Window {
    a: String,
    b: String,
    last_id: i64,
    limit: i64,
}

impl Query for Window {
    type SqlType = BigInt;
}

impl QueryFragment<Pg> for Window {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Self { a, b, limit, .. } = self;
        out.push_sql("SELECT id FROM outbox_event WHERE xid >= pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(a)?;
        out.push_sql("::pg_snapshot) AND xid < pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(b)?;
        out.push_sql("::pg_snapshot)");
        self.rest(&mut out)?;
        out.push_sql(" UNION ALL SELECT id FROM outbox_event WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip(");
        out.push_bind_param::<Text, _>(a)?;
        out.push_sql("::pg_snapshot)))");
        self.rest(&mut out)?;
        out.push_sql(" ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(limit)
    }
}

impl Window {
    /// Seen by B, and not dealt with yet.
    fn rest<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(" AND pg_visible_in_snapshot(xid, ");
        out.push_bind_param::<Text, _>(&self.b)?;
        out.push_sql("::pg_snapshot) AND id > ");
        out.push_bind_param::<BigInt, _>(&self.last_id)
    }
}
