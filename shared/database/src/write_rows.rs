//! `InsertRows` and `UpdateRows`: one `INSERT` or `UPDATE` for any number of rows, declared column by column.

use diesel::expression::Expression;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::query_source::QuerySource;
use diesel::serialize::ToSql;
use diesel::sql_types::HasSqlType;
use diesel::{Column, QueryResult, Table};

use crate::Rows;
use crate::rows::push_list;

/// `INSERT INTO table (a, b, …) SELECT given.a, given.b, … FROM` [`Rows`].
pub type InsertRows<T, R> = WriteRows<T, R, Inserting>;

/// `UPDATE table SET a = given.a, … FROM` [`Rows`] `WHERE table.key = given.key`. No two rows may have the same key:
/// PostgreSQL would apply one of them.
pub type UpdateRows<T, R> = WriteRows<T, R, Updating>;

/// The kind of [`InsertRows`].
#[derive(Debug)]
pub struct Inserting;

/// The kind of [`UpdateRows`]: the columns by which a row is found.
#[derive(Debug, Default)]
pub struct Updating(Vec<&'static str>);

/// A statement that writes rows of type `R` to a table.
#[must_use]
pub struct WriteRows<T: QuerySource, R, Kind> {
    table: T::FromClause,
    rows: Vec<R>,
    given: Rows,
    columns: Vec<Target>,
    kind: Kind,
}

/// A column of the table: given values, or the same expression for all rows.
struct Target {
    name: &'static str,
    expression: Option<Box<dyn QueryFragment<Pg> + Send + Sync>>,
}

impl<T, R> InsertRows<T, R>
where
    T: Table,
    T::FromClause: QueryFragment<Pg>,
{
    /// An insert of these rows into this table.
    pub fn new(table: T, rows: Vec<R>) -> Self {
        Self::of_kind(table, rows, Inserting)
    }
}

impl<T, R> UpdateRows<T, R>
where
    T: Table,
    T::FromClause: QueryFragment<Pg>,
{
    /// An update of these rows of this table. Name their key next.
    pub fn new(table: T, rows: Vec<R>) -> Self {
        Self::of_kind(table, rows, Updating::default())
    }

    /// The next column of the key, with a value of each row.
    pub fn key<C, V>(mut self, _: C, value: impl FnMut(&mut R) -> V) -> Self
    where
        C: Column<Table = T, SqlType: Send + Sync + 'static>,
        V: ToSql<C::SqlType, Pg> + Send + Sync + 'static,
        Pg: HasSqlType<C::SqlType>,
    {
        self.given = self.given.column::<C::SqlType, V>(C::NAME, self.rows.iter_mut().map(value));
        self.kind.0.push(C::NAME);
        self
    }
}

impl<T, R, Kind> WriteRows<T, R, Kind>
where
    T: Table,
    T::FromClause: QueryFragment<Pg>,
{
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a table's name is a value, as in diesel's own functions"
    )]
    fn of_kind(table: T, rows: Vec<R>, kind: Kind) -> Self {
        Self { table: table.from_clause(), rows, given: Rows::default(), columns: Vec::new(), kind }
    }

    /// The next column, with a value of each row. `value` runs once for each row and may move the value out.
    pub fn column<C, V>(mut self, _: C, value: impl FnMut(&mut R) -> V) -> Self
    where
        C: Column<Table = T, SqlType: Send + Sync + 'static>,
        V: ToSql<C::SqlType, Pg> + Send + Sync + 'static,
        Pg: HasSqlType<C::SqlType>,
    {
        self.given = self.given.column::<C::SqlType, V>(C::NAME, self.rows.iter_mut().map(value));
        self.columns.push(Target { name: C::NAME, expression: None });
        self
    }

    /// The next column, with the same expression for all rows.
    pub fn all<C, E>(mut self, _: C, expression: E) -> Self
    where
        C: Column<Table = T>,
        E: Expression<SqlType = C::SqlType> + QueryFragment<Pg> + Send + Sync + 'static,
    {
        self.columns.push(Target { name: C::NAME, expression: Some(Box::new(expression)) });
        self
    }
}

impl QueryFragment<Pg> for Target {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        match &self.expression {
            None => push_given(self.name, &mut out),
            Some(expression) => expression.walk_ast(out),
        }
    }
}

fn push_given(name: &'static str, out: &mut AstPass<'_, '_, Pg>) -> QueryResult<()> {
    out.push_sql("given.");
    out.push_identifier(name)
}

impl<T, R> QueryFragment<Pg> for InsertRows<T, R>
where
    T: QuerySource,
    T::FromClause: QueryFragment<Pg>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("INSERT INTO ");
        self.table.walk_ast(out.reborrow())?;
        out.push_sql(" (");
        push_list(&self.columns, &mut out, |column, out| out.push_identifier(column.name))?;
        out.push_sql(") SELECT ");
        push_list(&self.columns, &mut out, |column, out| column.walk_ast(out.reborrow()))?;
        out.push_sql(" FROM ");
        self.given.walk_ast(out)
    }
}

impl<T, R> QueryFragment<Pg> for UpdateRows<T, R>
where
    T: QuerySource,
    T::FromClause: QueryFragment<Pg>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("UPDATE ");
        self.table.walk_ast(out.reborrow())?;
        out.push_sql(" SET ");
        push_list(&self.columns, &mut out, |column, out| {
            out.push_identifier(column.name)?;
            out.push_sql(" = ");
            column.walk_ast(out.reborrow())
        })?;
        out.push_sql(" FROM ");
        self.given.walk_ast(out.reborrow())?;
        for (number, key) in self.kind.0.iter().enumerate() {
            out.push_sql(if number == 0 { " WHERE " } else { " AND " });
            self.table.walk_ast(out.reborrow())?;
            out.push_sql(".");
            out.push_identifier(key)?;
            out.push_sql(" = ");
            push_given(key, &mut out)?;
        }
        Ok(())
    }
}
