//! The window: the rows of all transactions that committed between snapshot A and snapshot B. Only reads.
//!
//! The database assigns ids before commit, so a row with a smaller id may become visible after one with a larger id. A cursor
//! of one id would skip that row. Every row that is visible in B and not in A is in the window.
//!
//! What goes wrong with such a cursor: a transaction draws id 7 and is slow, another one commits id 8, the relay publishes 8 and
//! remembers 8. Then 7 commits, and is never published.
//!
//! The cost of a read does not depend on the length of the backlog or on the planner's estimates, because each statement reads
//! a bounded part of one index. Above the floor of A, ranges of ids are read. Up to the floor, a row of the window belongs to
//! a transaction that was open at A; the index on (xid, id) finds the rows of each of them.

use database::Database;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

use super::snapshot::Snapshot;
use crate::outbox_event::{COLUMNS, StoredColumns, StoredEvent};

/// The number of ids that one statement examines above the floor.
const IDS_PER_READ: i64 = 50_000;

/// The rest of a window, from a position on.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub(super) a: Snapshot,
    pub(super) b: Snapshot,
    /// No row that is visible in B has a greater id.
    pub(super) ceiling_id: i64,
    /// Rows up to this id count as visible in B: they came with a restored database, with numbers of another server.
    pub(super) restored_id: i64,
    /// All rows of the window up to this id were returned.
    pub(super) position: i64,
}

impl Window {
    /// Returns the next rows in order, at most so many; `None` at the end of the window. The page may be empty before the end.
    pub(super) async fn next_page(
        &mut self,
        database: &Database,
        limit: i64,
    ) -> database::Result<Option<Vec<StoredEvent>>> {
        let has_early_rows = self.position < self.a.floor_id && self.a.has_open_transactions();
        let after = self.position.max(self.a.floor_id);
        if !has_early_rows && after >= self.ceiling_id {
            return Ok(None);
        }
        let mut connection = database.connection().await?;
        let window = self.clone();
        let (page, end): (Vec<StoredEvent>, i64) = if has_early_rows {
            (EarlyRows { window, limit }.load(&mut connection).await?, self.a.floor_id)
        } else {
            let end = after.saturating_add(IDS_PER_READ).min(self.ceiling_id);
            (IdRange { window, after, end, limit }.load(&mut connection).await?, end)
        };
        // A full page may end before the range does. The next one continues after it.
        let is_full = i64::try_from(page.len()).is_ok_and(|rows| rows >= limit);
        self.position = page.last().filter(|_| is_full).map_or(end, |row| row.id);
        Ok(Some(page))
    }
}

// Both queries are fragments, because `sql_query` is never kept prepared. Planning over all partitions costs ten times the
// execution (measured). A subquery around a snapshot reads its text once, and not for each row.

/// The rows up to the floor. One step through the index for each transaction that was open at A reads a long transaction once,
/// and not once for each page. Only the index on (xid, id) can find pairs: a plan of an empty partition would take either index.
#[derive(QueryId)]
struct EarlyRows {
    window: Window,
    limit: i64,
}

impl Query for EarlyRows {
    type SqlType = StoredColumns;
}

impl QueryFragment<Pg> for EarlyRows {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Window { a, b, restored_id, position, .. } = &self.window;
        out.push_sql("SELECT ");
        out.push_sql(COLUMNS);
        out.push_sql(" FROM (SELECT pg_snapshot_xip(");
        out.push_bind_param::<Text, _>(&a.text)?;
        out.push_sql("::pg_snapshot) UNION ALL SELECT n::text::xid8 FROM generate_series(pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(&a.text)?;
        out.push_sql("::pg_snapshot)::text::bigint, ");
        out.push_bind_param::<BigInt, _>(&a.next_xid)?;
        out.push_sql(
            "::bigint - 1) AS n) AS open (xid) \
             CROSS JOIN LATERAL (SELECT * FROM outbox_event WHERE (xid, id) > (open.xid, greatest(",
        );
        out.push_bind_param::<BigInt, _>(position)?;
        out.push_sql("::bigint, ");
        out.push_bind_param::<BigInt, _>(restored_id)?;
        out.push_sql("::bigint)) AND (xid, id) <= (open.xid, ");
        out.push_bind_param::<BigInt, _>(&a.floor_id)?;
        out.push_sql(") ORDER BY xid, id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(") AS event WHERE pg_visible_in_snapshot(open.xid, (SELECT ");
        out.push_bind_param::<Text, _>(&b.text)?;
        out.push_sql("::pg_snapshot)) ORDER BY event.id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

/// The rows of a range of ids above the floor.
#[derive(QueryId)]
struct IdRange {
    window: Window,
    after: i64,
    end: i64,
    limit: i64,
}

impl Query for IdRange {
    type SqlType = StoredColumns;
}

impl QueryFragment<Pg> for IdRange {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Window { a, b, restored_id, .. } = &self.window;
        out.push_sql("SELECT ");
        out.push_sql(COLUMNS);
        out.push_sql(" FROM outbox_event AS event WHERE id > ");
        out.push_bind_param::<BigInt, _>(&self.after)?;
        out.push_sql(" AND id <= ");
        out.push_bind_param::<BigInt, _>(&self.end)?;
        out.push_sql(" AND NOT pg_visible_in_snapshot(xid, (SELECT ");
        out.push_bind_param::<Text, _>(&a.text)?;
        out.push_sql("::pg_snapshot)) AND (id <= ");
        out.push_bind_param::<BigInt, _>(restored_id)?;
        out.push_sql(" OR pg_visible_in_snapshot(xid, (SELECT ");
        out.push_bind_param::<Text, _>(&b.text)?;
        out.push_sql("::pg_snapshot))) ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}
