//! SQL statements around any number of rows: text, then [`Rows`] under the alias `given`, then text.

use std::marker::PhantomData;

use database::Rows;
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// A statement whose result rows have the SQL type `ST`.
pub(crate) struct WithRows<ST> {
    before: &'static str,
    rows: Rows,
    after: &'static str,
    result: PhantomData<fn() -> ST>,
}

impl<ST> WithRows<ST> {
    pub(crate) fn new(before: &'static str, rows: Rows, after: &'static str) -> Self {
        Self { before, rows, after, result: PhantomData }
    }
}

impl<ST> QueryFragment<Pg> for WithRows<ST> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(self.before);
        self.rows.walk_ast(out.reborrow())?;
        out.push_sql(self.after);
        Ok(())
    }
}

impl<ST> QueryId for WithRows<ST> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<ST> Query for WithRows<ST> {
    type SqlType = ST;
}
