//! `Commit`: COMMIT as a prepared statement.
//!
//! diesel-async prepares statements one at a time and sends each as soon as it is prepared. A prepared COMMIT therefore never
//! overtakes a write before it, even one that the connection meets for the first time. A plain COMMIT would.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

#[derive(QueryId)]
pub(crate) struct Commit;

impl QueryFragment<Pg> for Commit {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("COMMIT");
        Ok(())
    }
}
