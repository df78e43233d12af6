//! `Snapshot`: a snapshot of the database, with bounds for the rows that it does not see.
//!
//! A transaction draws its number before its first id, because `xid` is the first column of the table. So a row with an id up to
//! the floor belongs to a transaction that had its number before the snapshot. If the snapshot does not see the row, the
//! transaction was open. Open transactions are those of the snapshot's list, and those from its `xmax` to the next
//! transaction number: `xmax` follows the last *ended* transaction, and open ones may have greater numbers.

use database::Database;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use diesel_async::RunQueryDsl;

/// A snapshot and its bounds. Later statements see every row that the snapshot sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// As PostgreSQL writes a `pg_snapshot`: `xmin:xmax:xip_list`.
    pub(super) text: String,
    /// A row with an id up to this one belongs to a transaction with a number below `next_xid`.
    pub(super) floor_id: i64,
    /// A number that was assigned after the snapshot; 0 if none was drawn yet.
    pub(super) next_xid: i64,
}

impl Snapshot {
    /// Returns whether transactions were open that may have rows up to the floor.
    pub(super) fn has_open_transactions(&self) -> bool {
        !self.text.ends_with(':') || xmax(&self.text).is_none_or(|xmax| xmax < self.next_xid)
    }

    /// Draws the next transaction number, unless the snapshot has it already.
    pub(super) async fn complete(&mut self, database: &Database) -> database::Result<()> {
        if self.next_xid == 0 {
            self.next_xid = DrawXid.get_result(&mut database.connection().await?).await?;
        }
        Ok(())
    }

    /// Returns whether this snapshot's transaction numbers are smaller than those of an earlier one.
    pub(super) fn went_back_behind(&self, earlier: &Self) -> bool {
        xmax(&self.text) < xmax(&earlier.text)
    }
}

/// The first number that no ended transaction had.
fn xmax(snapshot: &str) -> Option<i64> {
    snapshot.split(':').nth(1)?.parse().ok()
}

/// A snapshot that was just taken.
pub(super) struct TakenSnapshot {
    pub(super) text: String,
    /// Rows that are visible in the snapshot have ids up to this one.
    pub(super) ceiling_id: i64,
    /// A number that was assigned after the snapshot, if it was asked for.
    pub(super) next_xid: Option<i64>,
    /// The timeline of the server that took the snapshot.
    pub(super) timeline: String,
}

/// Takes a snapshot. With `draws_xid`, the statement also uses up a transaction number.
pub(super) async fn take(database: &Database, draws_xid: bool) -> database::Result<TakenSnapshot> {
    let mut connection = database.connection().await?;
    let (text, ceiling_id, next_xid, timeline) =
        TakeSnapshot { draws_xid }.get_result(&mut connection).await?;
    Ok(TakenSnapshot { text, ceiling_id, next_xid, timeline })
}

// Fragments, because `sql_query` is never kept prepared.

/// The last id that any transaction has drawn; 0 before the first.
const LAST_ID: &str = "coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0)";
const DRAW_XID: &str = "pg_current_xact_id()::text::bigint";

#[derive(QueryId)]
pub(super) struct TakeSnapshot {
    pub(super) draws_xid: bool,
}

impl Query for TakeSnapshot {
    type SqlType = (Text, BigInt, Nullable<BigInt>, Text);
}

impl QueryFragment<Pg> for TakeSnapshot {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT pg_current_snapshot()::text, ");
        out.push_sql(LAST_ID);
        out.push_sql(", CASE WHEN ");
        out.push_bind_param::<Bool, _>(&self.draws_xid)?;
        out.push_sql(" THEN ");
        out.push_sql(DRAW_XID);
        out.push_sql(" END, outbox_timeline()");
        Ok(())
    }
}

#[derive(QueryId)]
struct DrawXid;

impl Query for DrawXid {
    type SqlType = BigInt;
}

impl QueryFragment<Pg> for DrawXid {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT ");
        out.push_sql(DRAW_XID);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(text: &str, next_xid: i64) -> Snapshot {
        Snapshot { text: text.to_owned(), floor_id: 0, next_xid }
    }

    #[test]
    fn open_transactions_are_listed_or_follow_xmax() {
        assert!(snapshot("10:20:10,14", 20).has_open_transactions());
        assert!(snapshot("20:20:", 21).has_open_transactions());
        assert!(!snapshot("20:20:", 20).has_open_transactions());
        assert!(!snapshot("1:1:", 0).has_open_transactions());
    }

    #[test]
    fn a_smaller_xmax_went_back() {
        let earlier = snapshot("20:20:", 20);
        assert!(snapshot("19:19:", 19).went_back_behind(&earlier));
        assert!(!snapshot("10:20:10", 30).went_back_behind(&earlier));
    }
}
