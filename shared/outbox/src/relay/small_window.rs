//! A window of less than a page: snapshot B and the rows come with one statement. Only reads.
//!
//! The statement reads with the snapshot that it returns. Every row that it sees is therefore visible in B, and it selects those
//! that are not visible in A.

use database::Database;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel_async::RunQueryDsl;

use super::cursor::Cursor;
use super::snapshot::{Snapshot, TakeSnapshot, TakenSnapshot};
use crate::outbox_event::{COLUMNS, StoredColumns, StoredEvent};

/// Takes a snapshot, and reads the window that it ends, in order: at most `limit` rows up to the floor of A, and as many above.
/// Reads none above the floor if the ceiling is `large_from` or more. With `draws_xid`, the statement also uses up a transaction
/// number.
pub(super) async fn read(
    database: &Database,
    cursor: &Cursor,
    draws_xid: bool,
    large_from: i64,
    limit: i64,
) -> database::Result<(TakenSnapshot, Vec<StoredEvent>)> {
    type Row = (String, i64, Option<i64>, String, Option<StoredEvent>);
    let Cursor { a, last_id, restored_id, .. } = cursor;
    let window = WindowQuery {
        snapshot: TakeSnapshot { draws_xid },
        a: a.clone(),
        above_floor: a.floor_id.max(*last_id),
        large_from,
        early: *restored_id.max(last_id),
        limit,
    };
    let mut connection = database.connection().await?;
    let rows: Vec<Row> = if a.has_open_transactions() {
        WithEarlyRows(window).load(&mut connection).await?
    } else {
        window.load(&mut connection).await?
    };
    let mut taken = None;
    let mut events = Vec::with_capacity(rows.len());
    for (text, ceiling_id, next_xid, timeline, event) in rows {
        taken.get_or_insert(TakenSnapshot { text, ceiling_id, next_xid, timeline });
        events.extend(event);
    }
    Ok((taken.ok_or(diesel::result::Error::NotFound)?, events))
}

type Columns = (Text, BigInt, Nullable<BigInt>, Text, Nullable<StoredColumns>);

/// The rows above the floor of A. No transaction that was open at A can have rows up to the floor.
#[derive(QueryId)]
struct WindowQuery {
    snapshot: TakeSnapshot,
    a: Snapshot,
    /// Rows above the floor have greater ids than this one.
    above_floor: i64,
    /// From this ceiling on, the window is large, and its rows are not read.
    large_from: i64,
    /// Rows up to the floor have greater ids than this one.
    early: i64,
    limit: i64,
}

/// The rows up to the floor, too.
#[derive(QueryId)]
struct WithEarlyRows(WindowQuery);

impl Query for WindowQuery {
    type SqlType = Columns;
}

impl Query for WithEarlyRows {
    type SqlType = Columns;
}

impl QueryFragment<Pg> for WindowQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.push_joined(&mut out, Self::push_range)
    }
}

impl QueryFragment<Pg> for WithEarlyRows {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        self.0.push_joined(&mut out, |window, out| {
            out.push_sql("(");
            window.push_early(out)?;
            out.push_sql(") UNION ALL (");
            window.push_range(out)?;
            out.push_sql(")");
            Ok(())
        })
    }
}

impl WindowQuery {
    /// Joins the snapshot, one row, with these rows.
    fn push_joined<'b>(
        &'b self,
        out: &mut AstPass<'_, 'b, Pg>,
        push_rows: impl FnOnce(&'b Self, &mut AstPass<'_, 'b, Pg>) -> QueryResult<()>,
    ) -> QueryResult<()> {
        out.push_sql("SELECT taken.*, ");
        out.push_sql(COLUMNS);
        out.push_sql(" FROM (");
        self.snapshot.walk_ast(out.reborrow())?;
        out.push_sql(") AS taken (text, ceiling, next_xid, timeline) LEFT JOIN LATERAL (");
        push_rows(self, out)?;
        out.push_sql(") AS event ON true ORDER BY event.id");
        Ok(())
    }

    fn push_range<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT * FROM outbox_event WHERE id > ");
        out.push_bind_param::<BigInt, _>(&self.above_floor)?;
        out.push_sql(" AND id <= taken.ceiling AND taken.ceiling < ");
        out.push_bind_param::<BigInt, _>(&self.large_from)?;
        out.push_sql(" AND NOT pg_visible_in_snapshot(xid, (SELECT ");
        out.push_bind_param::<Text, _>(&self.a.text)?;
        out.push_sql("::pg_snapshot)) ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }

    /// As `EarlyRows` in `window`: one step through the index for each transaction that was open at A.
    fn push_early<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT event.* FROM (SELECT pg_snapshot_xip(");
        out.push_bind_param::<Text, _>(&self.a.text)?;
        out.push_sql("::pg_snapshot) UNION ALL SELECT n::text::xid8 FROM generate_series(pg_snapshot_xmax(");
        out.push_bind_param::<Text, _>(&self.a.text)?;
        out.push_sql("::pg_snapshot)::text::bigint, ");
        out.push_bind_param::<BigInt, _>(&self.a.next_xid)?;
        out.push_sql(
            "::bigint - 1) AS n) AS open (xid) \
             CROSS JOIN LATERAL (SELECT * FROM outbox_event WHERE (xid, id) > (open.xid, ",
        );
        out.push_bind_param::<BigInt, _>(&self.early)?;
        out.push_sql(") AND (xid, id) <= (open.xid, ");
        out.push_bind_param::<BigInt, _>(&self.a.floor_id)?;
        out.push_sql(") ORDER BY xid, id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(
            ") AS event WHERE pg_visible_in_snapshot(open.xid, (SELECT pg_current_snapshot())) LIMIT ",
        );
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}
