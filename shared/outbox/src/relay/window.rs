//! The window: the rows of all transactions that committed between snapshot A and snapshot B. Only reads.
//!
//! The database assigns ids before commit, so a row with a smaller id may become visible after one with a larger id. A cursor
//! of one id would skip that row. A row that is visible in B and not in A is in the window, whatever its id.

use database::Database;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

use super::RelayError;

/// Returns the current snapshot of the database. Later statements see every row that this snapshot sees.
pub(super) async fn current_snapshot(database: &Database) -> Result<String, RelayError> {
    let mut connection = database.connection().await?;
    Ok(CurrentSnapshot.get_result(&mut connection).await?)
}

/// Returns the ids of the window that are greater than `last_id`, in order, at most `limit`.
pub(super) async fn read_ids(
    database: &Database,
    a: &str,
    b: &str,
    last_id: i64,
    limit: i64,
) -> Result<Vec<i64>, RelayError> {
    let mut connection = database.connection().await?;
    let query = WindowQuery { a: a.to_owned(), b: b.to_owned(), last_id, limit };
    Ok(query.load(&mut connection).await?)
}

// Both queries are fragments, because `sql_query` is never kept prepared. Planning the window over all partitions costs ten
// times its execution (measured).

#[derive(QueryId)]
struct CurrentSnapshot;

impl Query for CurrentSnapshot {
    type SqlType = Text;
}

impl QueryFragment<Pg> for CurrentSnapshot {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_current_snapshot()::text");
        Ok(())
    }
}

/// Selects rows that are not visible in A and visible in B.
///
/// A row is not visible in A if its transaction began after A (first part) or was open at A (second part). Each part can use
/// the index on `xid`. With one condition for both, one long transaction would make every read scan all rows since its start.
#[derive(QueryId)]
struct WindowQuery {
    a: String,
    b: String,
    last_id: i64,
    limit: i64,
}

impl Query for WindowQuery {
    type SqlType = BigInt;
}

impl QueryFragment<Pg> for WindowQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Self { a, b, limit, .. } = self;
        out.push_sql("SELECT id FROM outbox_event WHERE xid >= pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(a)?;
        out.push_sql("::pg_snapshot) AND xid < pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(b)?;
        out.push_sql("::pg_snapshot)");
        self.push_common_conditions(&mut out)?;
        out.push_sql(" UNION ALL SELECT id FROM outbox_event WHERE xid = ANY (ARRAY(SELECT pg_snapshot_xip(");
        out.push_bind_param::<Text, _>(a)?;
        out.push_sql("::pg_snapshot)))");
        self.push_common_conditions(&mut out)?;
        out.push_sql(" ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(limit)
    }
}

impl WindowQuery {
    /// The row is visible in B, and its id is greater than the last published one.
    fn push_common_conditions<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(" AND pg_visible_in_snapshot(xid, ");
        out.push_bind_param::<Text, _>(&self.b)?;
        out.push_sql("::pg_snapshot) AND id > ");
        out.push_bind_param::<BigInt, _>(&self.last_id)
    }
}
