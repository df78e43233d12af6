//! Any number of rows in one statement whose text has two forms only, so that it stays prepared.

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::AstPass;
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, HasSqlType};

/// Rows in a FROM clause, column by column: `(VALUES ($1, $2))` for one, `unnest($1, $2)` over arrays for any other
/// number. A transaction has mostly one, and arrays of one cost PostgreSQL a fifth of the whole order (measured).
pub struct Rows<'a, 'b> {
    out: AstPass<'a, 'b, Pg>,
    one: bool,
    begun: bool,
}

impl<'a, 'b> Rows<'a, 'b> {
    /// So many rows, at this place of a statement.
    pub fn of(number: usize, mut out: AstPass<'a, 'b, Pg>) -> Self {
        let one = number == 1;
        out.push_sql(if one { "(VALUES (" } else { "unnest(" });
        Self { out, one, begun: false }
    }

    /// The next column, a value for each row.
    pub fn column<ST: 'static, T>(mut self, values: &'b [T]) -> QueryResult<Self>
    where
        Pg: HasSqlType<ST>,
        T: ToSql<ST, Pg>,
        [T]: ToSql<Array<ST>, Pg>,
    {
        if std::mem::replace(&mut self.begun, true) {
            self.out.push_sql(", ");
        }
        match values {
            [value] if self.one => self.out.push_bind_param(value)?,
            values => self.out.push_bind_param::<Array<ST>, _>(values)?,
        }
        Ok(self)
    }

    /// After the last column. What follows is their alias, with the names of the columns.
    pub fn end(mut self) {
        self.out.push_sql(if self.one { "))" } else { ")" });
    }
}
