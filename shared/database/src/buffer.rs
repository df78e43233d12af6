//! Buffered rows: rows without a result wait in the transaction, and one statement writes all of them.

use std::any::{Any, TypeId};

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel_async::RunQueryDsl;

use crate::{Result, Tx};

/// A row that can be written at the end of its transaction.
pub trait Buffered: Send + Sync + Sized + 'static {
    /// Builds the statements that write all rows of this type.
    ///
    /// The parts of the combined statement do not see each other's rows. PostgreSQL checks foreign keys after all
    /// parts have run.
    fn inserts(rows: Vec<Self>) -> Vec<Insert>;
}

/// An `INSERT` without `RETURNING`, as a part of a combined statement.
///
/// The combined statement is prepared once for each SQL text. So the text may depend on the number of rows only, and
/// as little as possible: use [`InsertRows`](crate::InsertRows), not `values(Vec)`.
pub struct Insert(Box<dyn QueryFragment<Pg> + Send + Sync>);

impl Insert {
    /// Wraps a statement of the query builder.
    pub fn new(statement: impl QueryFragment<Pg> + Send + Sync + 'static) -> Self {
        Self(Box::new(statement))
    }
}

type AnyRow = Box<dyn Any + Send + Sync>;
type ToInserts = fn(Vec<AnyRow>) -> Vec<Insert>;

/// One row of any type, with the function that builds the statements of its type.
pub(crate) struct BufferedRow {
    row_type: TypeId,
    row: AnyRow,
    inserts: ToInserts,
}

impl BufferedRow {
    pub(crate) fn new<R: Buffered>(row: R) -> Self {
        Self { row_type: TypeId::of::<R>(), row: Box::new(row), inserts: inserts_of::<R> }
    }
}

fn inserts_of<R: Buffered>(rows: Vec<AnyRow>) -> Vec<Insert> {
    let typed = rows.into_iter().map(|row| match row.downcast::<R>() {
        Ok(row) => *row,
        Err(_) => unreachable!("`write` groups the rows by their type"),
    });
    R::inserts(typed.collect())
}

/// Writes all rows by one statement. Rows of one type keep their order.
pub(crate) async fn write(buffered: Vec<BufferedRow>, tx: &mut Tx) -> Result<()> {
    let mut groups: Vec<(TypeId, ToInserts, Vec<AnyRow>)> = Vec::new();
    for BufferedRow { row_type, row, inserts } in buffered {
        match groups.iter_mut().find(|(known, ..)| *known == row_type) {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((row_type, inserts, vec![row])),
        }
    }
    let parts = groups.into_iter().flat_map(|(_, inserts, rows)| inserts(rows)).collect();
    CombinedInsert(parts).execute(tx).await?;
    Ok(())
}

/// `WITH part_0 AS (INSERT …), part_1 AS (INSERT …) INSERT …`: one round trip for any number of tables.
struct CombinedInsert(Vec<Insert>);

impl QueryFragment<Pg> for CombinedInsert {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Some((Insert(last), before)) = self.0.split_last() else { return Ok(()) };
        for (number, Insert(part)) in before.iter().enumerate() {
            out.push_sql(if number == 0 { "WITH " } else { ", " });
            out.push_identifier(&format!("part_{number}"))?;
            out.push_sql(" AS (");
            part.walk_ast(out.reborrow())?;
            out.push_sql(")");
        }
        if !before.is_empty() {
            out.push_sql(" ");
        }
        last.walk_ast(out)
    }
}

/// Prepared by its text, because the tables are known at run time only.
impl QueryId for CombinedInsert {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
