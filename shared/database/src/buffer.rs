//! Rows that have no result wait in the transaction and are written by one statement.

use std::any::{Any, TypeId};

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel_async::RunQueryDsl;

use crate::{Result, Tx};

/// A row that can wait until the end of its transaction.
pub trait Buffered: Send + Sync + Sized + 'static {
    /// What writes all rows of this type. Everything that is buffered becomes one statement, whose parts do not see
    /// each other's rows; foreign keys are checked when all are there.
    fn inserts(rows: Vec<Self>) -> Vec<Insert>;
}

/// An `INSERT` without `RETURNING` that is written together with others.
///
/// The statement stays prepared if the text of all its parts depends on nothing but how many rows there are, and that
/// as seldom as possible: [`InsertRows`](crate::InsertRows) instead of `values(Vec)`.
pub struct Insert(Box<dyn QueryFragment<Pg> + Send + Sync>);

impl Insert {
    /// Of the query builder's statement.
    pub fn new(statement: impl QueryFragment<Pg> + Send + Sync + 'static) -> Self {
        Self(Box::new(statement))
    }
}

type Row = Box<dyn Any + Send + Sync>;
type ToInserts = fn(Vec<Row>) -> Vec<Insert>;

/// One row, with the function that knows how to write it and its like.
pub(crate) struct Pending {
    kind: TypeId,
    row: Row,
    inserts: ToInserts,
}

impl Pending {
    pub(crate) fn new<R: Buffered>(row: R) -> Self {
        Self { kind: TypeId::of::<R>(), row: Box::new(row), inserts: inserts_of::<R> }
    }
}

fn inserts_of<R: Buffered>(rows: Vec<Row>) -> Vec<Insert> {
    R::inserts(rows.into_iter().filter_map(|row| row.downcast::<R>().ok().map(|row| *row)).collect())
}

/// Writes everything, each type in the order of its appends.
pub(crate) async fn write(pending: Vec<Pending>, tx: &mut Tx) -> Result<()> {
    let mut groups: Vec<(TypeId, ToInserts, Vec<Row>)> = Vec::new();
    for Pending { kind, row, inserts } in pending {
        match groups.iter_mut().find(|(k, ..)| *k == kind) {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((kind, inserts, vec![row])),
        }
    }
    let parts = groups.into_iter().flat_map(|(_, inserts, rows)| inserts(rows)).collect();
    Together(parts).execute(tx).await?;
    Ok(())
}

/// `WITH part_0 AS (INSERT …), part_1 AS (INSERT …) INSERT …`: one round trip, one execution, for any number of tables.
struct Together(Vec<Insert>);

impl QueryFragment<Pg> for Together {
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

/// Kept prepared by its text: which types are written together is known at run time alone.
impl QueryId for Together {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}
