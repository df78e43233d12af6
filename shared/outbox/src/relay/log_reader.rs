//! `LogReader`: reads the outbox in the order of ids, and remembers how far, and with which gaps.
//!
//! One statement, and so one snapshot, reads the rows behind the position and those of the gaps. Of two visible rows of one aggregate
//! the smaller id is the earlier one, because `append` runs after the aggregate's row is locked. So each read is in order, and no
//! later read finds an earlier event of an aggregate: it would have been visible before.

use database::Connection;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Bool, Int8, Multirange, Nullable};
use diesel_async::RunQueryDsl;

use super::gaps::{Gaps, Ranges};
use crate::outbox_event::{COLUMNS, StoredColumns, StoredEvent, outbox_event};

/// Each row with an id up to the position was read, or its id is among the gaps.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    position: i64,
    gaps: Gaps,
}

/// The rows of one read, in the order of ids.
pub(super) struct Page {
    pub(super) rows: Vec<StoredEvent>,
    /// `None` if there were no gaps.
    look: Option<Look>,
}

/// The transaction numbers that a read returns beside its rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// Every transaction with a smaller number had ended.
    pub(super) xmin: i64,
    /// A number that the statement has drawn.
    pub(super) drawn_xid: Option<i64>,
}

impl LogReader {
    pub(super) fn new(position: i64, gaps: Gaps) -> Self {
        Self { position, gaps }
    }

    pub(super) fn position(&self) -> i64 {
        self.position
    }

    pub(super) fn gaps(&self) -> Ranges {
        self.gaps.ranges()
    }

    /// Reads these rows again. Those behind the position are read anyway.
    pub(super) fn read_again(&mut self, ids: Vec<i64>) {
        for id in ids.into_iter().filter(|id| *id <= self.position) {
            self.gaps.remove(id); // it may be in a longer gap
            self.gaps.add(id..=id);
        }
    }

    /// The query of the next page. It draws a transaction number only if there are new gaps.
    pub(super) fn next_page(&self, limit: i64) -> PageQuery {
        PageQuery {
            position: self.position,
            gaps: self.gaps.ranges(),
            draws_xid: self.gaps.need_a_number(),
            limit,
        }
    }

    /// Moves behind a page that [`next_page`](Self::next_page) has read since the last call; a full page has as many rows as its limit.
    /// Returns whether gaps have ended without a row.
    pub(super) fn pass(&mut self, page: &Page, is_full: bool) -> bool {
        let ids: Vec<i64> = page.rows.iter().map(|row| row.id).collect();
        self.pass_ids(&ids, is_full, page.look)
    }

    /// As [`pass`](Self::pass), by the ids of the rows.
    pub(super) fn pass_ids(&mut self, ids: &[i64], is_full: bool, look: Option<Look>) -> bool {
        let (late, new) = ids.split_at(ids.partition_point(|id| *id <= self.position));
        for id in late {
            self.gaps.remove(*id);
        }
        let have_ended = look.is_some_and(|look| {
            look.drawn_xid.into_iter().for_each(|next_xid| self.gaps.note_number(next_xid));
            // A full page may end before the rows of later gaps.
            let looked_up_to = ids.last().copied().filter(|_| is_full).unwrap_or(i64::MAX);
            self.gaps.end(look.xmin, looked_up_to)
        });
        for id in new {
            self.gaps.add(self.position + 1..=id - 1);
            self.position = *id;
        }
        have_ended
    }
}

/// Reads a page. A fragment, because `sql_query` is never kept prepared, and planning over all partitions costs ten times the
/// execution (measured).
#[derive(Debug, QueryId)]
pub(super) struct PageQuery {
    pub(super) position: i64,
    pub(super) gaps: Ranges,
    pub(super) draws_xid: bool,
    pub(super) limit: i64,
}

impl PageQuery {
    pub(super) async fn read(self, session: &Connection) -> database::Result<Page> {
        type Row = (i64, Option<i64>, Option<StoredEvent>);
        let mut session = session;
        if self.gaps.is_empty() {
            let behind =
                outbox_event::table.filter(outbox_event::id.gt(self.position)).order(outbox_event::id);
            let rows = behind.limit(self.limit).select(StoredEvent::as_select()).load(&mut session).await?;
            return Ok(Page { rows, look: None });
        }
        let read: Vec<Row> = self.load(&mut session).await?;
        let look = read.as_slice().first().map(|&(xmin, drawn_xid, _)| Look { xmin, drawn_xid });
        let mut rows: Vec<StoredEvent> = read.into_iter().filter_map(|(_, _, row)| row).collect();
        // The statement asks for no order: PostgreSQL would sort rows that it has sorted before.
        rows.sort_by_key(|row| row.id);
        Ok(Page { rows, look })
    }
}

impl Query for PageQuery {
    type SqlType = (BigInt, Nullable<BigInt>, Nullable<StoredColumns>);
}

impl QueryFragment<Pg> for PageQuery {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT look.*, ");
        out.push_sql(COLUMNS);
        out.push_sql(" FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, CASE WHEN ");
        out.push_bind_param::<Bool, _>(&self.draws_xid)?;
        out.push_sql(
            " THEN pg_current_xact_id()::text::bigint END) AS look (xmin, drawn_xid) LEFT JOIN LATERAL (\
             (SELECT late.* FROM unnest(",
        );
        out.push_bind_param::<Multirange<Int8>, _>(&self.gaps)?;
        out.push_sql(
            ") AS gap CROSS JOIN LATERAL (SELECT * FROM outbox_event \
             WHERE id >= lower(gap) AND id < upper(gap) ORDER BY id LIMIT ",
        );
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(") AS late) UNION ALL (SELECT * FROM outbox_event WHERE id > ");
        out.push_bind_param::<BigInt, _>(&self.position)?;
        out.push_sql(" ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(") ORDER BY id LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)?;
        out.push_sql(") AS event ON true");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_gap_makes_a_read_draw_a_transaction_number() {
        let mut reader = LogReader::default();
        let mut read = |ids: &[i64], drawn_xid| {
            reader.pass_ids(ids, false, Some(Look { xmin: 7, drawn_xid }));
            reader.next_page(10).draws_xid
        };
        assert!(!read(&[1, 2], None));
        assert!(read(&[4], None), "the transaction of 3 may be open");
        assert!(!read(&[], Some(9)), "once is enough");
        assert!(!read(&[3, 5], None));
    }
}
