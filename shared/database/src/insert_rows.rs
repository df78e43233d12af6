//! `InsertRows`: one `INSERT` for any number of rows, declared column by column.

use diesel::expression::Expression;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_source::QuerySource;
use diesel::serialize::ToSql;
use diesel::sql_types::is_nullable::NotNull;
use diesel::sql_types::{HasSqlType, Nullable, SqlType};
use diesel::{Column, QueryResult, Table};

use crate::Rows;
use crate::rows::push_list;

/// `INSERT INTO table (a, b, …) SELECT a, b, … FROM` [`Rows`].
#[must_use]
pub struct InsertRows<T: QuerySource, R> {
    into: T::FromClause,
    rows: Vec<R>,
    given: Rows,
    columns: Vec<Target>,
}

/// A column of the table: given values, an expression, or given values with an expression as their default.
struct Target {
    name: &'static str,
    given: bool,
    otherwise: Option<Box<dyn QueryFragment<Pg> + Send + Sync>>,
}

impl<T, R> InsertRows<T, R>
where
    T: Table,
    T::FromClause: QueryFragment<Pg>,
{
    /// An insert of these rows into this table.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a table's name is a value, as in diesel's own functions"
    )]
    pub fn new(table: T, rows: Vec<R>) -> Self {
        Self { into: table.from_clause(), rows, given: Rows::default(), columns: Vec::new() }
    }

    /// The next column, with a value of each row. `value` runs once for each row and may move the value out.
    pub fn column<C, V>(mut self, _: C, value: impl FnMut(&mut R) -> V) -> Self
    where
        C: Column<Table = T, SqlType: Send + Sync + 'static>,
        V: ToSql<C::SqlType, Pg> + Send + Sync + 'static,
        Pg: HasSqlType<C::SqlType>,
    {
        self.given = self.given.column::<C::SqlType, V>(C::NAME, self.rows.iter_mut().map(value));
        self.columns.push(Target { name: C::NAME, given: true, otherwise: None });
        self
    }

    /// The next column; a row without a value gets the expression `otherwise`.
    pub fn column_or<C, V, E>(mut self, _: C, value: impl FnMut(&mut R) -> Option<V>, otherwise: E) -> Self
    where
        C: Column<Table = T, SqlType: SqlType<IsNull = NotNull> + Send + Sync + 'static>,
        Option<V>: ToSql<Nullable<C::SqlType>, Pg> + Send + Sync + 'static,
        Pg: HasSqlType<C::SqlType>,
        E: Expression<SqlType = C::SqlType> + QueryFragment<Pg> + Send + Sync + 'static,
    {
        let values = self.rows.iter_mut().map(value);
        self.given = self.given.column::<Nullable<C::SqlType>, Option<V>>(C::NAME, values);
        self.columns.push(Target { name: C::NAME, given: true, otherwise: Some(Box::new(otherwise)) });
        self
    }

    /// The next column, with the same expression for all rows.
    pub fn all<C, E>(mut self, _: C, expression: E) -> Self
    where
        C: Column<Table = T>,
        E: Expression<SqlType = C::SqlType> + QueryFragment<Pg> + Send + Sync + 'static,
    {
        self.columns.push(Target { name: C::NAME, given: false, otherwise: Some(Box::new(expression)) });
        self
    }
}

impl QueryFragment<Pg> for Target {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        match &self.otherwise {
            None => out.push_identifier(self.name),
            Some(expression) if !self.given => expression.walk_ast(out),
            Some(otherwise) => {
                out.push_sql("coalesce(");
                out.push_identifier(self.name)?;
                out.push_sql(", ");
                otherwise.walk_ast(out.reborrow())?;
                out.push_sql(")");
                Ok(())
            }
        }
    }
}

impl<T, R> QueryFragment<Pg> for InsertRows<T, R>
where
    T: QuerySource,
    T::FromClause: QueryFragment<Pg>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("INSERT INTO ");
        self.into.walk_ast(out.reborrow())?;
        out.push_sql(" (");
        push_list(&self.columns, &mut out, |column, out| out.push_identifier(column.name))?;
        out.push_sql(") SELECT ");
        push_list(&self.columns, &mut out, |column, out| column.walk_ast(out.reborrow()))?;
        out.push_sql(" FROM ");
        self.given.walk_ast(out)
    }
}
