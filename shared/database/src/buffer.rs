//! Buffered rows: rows without a result wait in the transaction, and one statement writes all of them.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel_async::RunQueryDsl;

use crate::{Result, Tx};

/// A row that can be written at the end of its transaction.
pub trait Buffered: Send + Sync + Sized + 'static {
    /// Builds the statements that write all rows of this type, in the order in which they were buffered.
    ///
    /// The parts of the combined statement do not see each other's rows: a row that was buffered twice must be in one part,
    /// and once. PostgreSQL checks foreign keys after all parts have run.
    fn writes(rows: Vec<Self>) -> Vec<Write>;
}

/// An `INSERT` or `UPDATE`, as a part of a combined statement.
///
/// The combined statement is prepared once for each SQL text. So the text may depend on the number of rows only, and
/// as little as possible: use [`InsertRows`](crate::InsertRows) and [`UpdateRows`](crate::UpdateRows), not `values(Vec)`.
pub struct Write {
    name: Option<&'static str>,
    statement: Box<dyn QueryFragment<Pg> + Send + Sync>,
}

impl Write {
    /// Wraps a statement of the query builder.
    pub fn new(statement: impl QueryFragment<Pg> + Send + Sync + 'static) -> Self {
        Self { name: None, statement: Box::new(statement) }
    }

    /// Wraps a statement with `RETURNING`. Later parts find what it returns under this name, which no other type of row uses.
    pub fn named(name: &'static str, statement: impl QueryFragment<Pg> + Send + Sync + 'static) -> Self {
        Self { name: Some(name), statement: Box::new(statement) }
    }
}

type AnyRow = Box<dyn Any + Send + Sync>;
type ToWrites = fn(Vec<AnyRow>) -> Vec<Write>;

/// A type of row. The name comes first, because it sorts the parts of a statement.
type RowType = (&'static str, TypeId);

/// One row of any type, with the function that builds the statements of its type.
pub(crate) struct BufferedRow {
    row_type: RowType,
    row: AnyRow,
    writes: ToWrites,
}

impl BufferedRow {
    pub(crate) fn new<R: Buffered>(row: R) -> Self {
        Self { row_type: (type_name::<R>(), TypeId::of::<R>()), row: Box::new(row), writes: writes_of::<R> }
    }
}

fn writes_of<R: Buffered>(rows: Vec<AnyRow>) -> Vec<Write> {
    let typed = rows.into_iter().map(|row| match row.downcast::<R>() {
        Ok(row) => *row,
        Err(_) => unreachable!("`write` groups the rows by their type"),
    });
    R::writes(typed.collect())
}

/// Writes all rows by one statement. Rows of one type keep their order. The types are sorted, so that transactions that write
/// the same types in another order use the same prepared statement.
pub(crate) async fn write(buffered: Vec<BufferedRow>, mut tx: &Tx) -> Result<()> {
    if buffered.is_empty() {
        return Ok(());
    }
    let mut groups: BTreeMap<RowType, (ToWrites, Vec<AnyRow>)> = BTreeMap::new();
    for BufferedRow { row_type, row, writes } in buffered {
        groups.entry(row_type).or_insert_with(|| (writes, Vec::new())).1.push(row);
    }
    let parts = groups.into_values().flat_map(|(writes, rows)| writes(rows)).collect();
    CombinedWrite(parts).execute(&mut tx).await?;
    Ok(())
}

/// `WITH part_0 AS (INSERT …), part_1 AS (UPDATE …) INSERT …`: one round trip for any number of tables.
struct CombinedWrite(Vec<Write>);

impl QueryFragment<Pg> for CombinedWrite {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let Some((last, before)) = self.0.split_last() else { return Ok(()) };
        for (number, part) in before.iter().enumerate() {
            out.push_sql(if number == 0 { "WITH " } else { ", " });
            match part.name {
                Some(name) => out.push_identifier(name)?,
                None => out.push_identifier(&format!("part_{number}"))?,
            }
            out.push_sql(" AS (");
            part.statement.walk_ast(out.reborrow())?;
            out.push_sql(")");
        }
        if !before.is_empty() {
            out.push_sql(" ");
        }
        last.statement.walk_ast(out)
    }
}

/// Prepared by its text, because the tables are known at run time only.
impl QueryId for CombinedWrite {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
