//! `Rows`: any number of given rows in a `FROM` clause. Its SQL text has two forms only, so its statement stays prepared.
//! `WithRows`: a statement around them.

use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, HasSqlType};

/// `(VALUES ($1, $2)) AS given (a, b)` for one row, and `(SELECT unnest($1), unnest($2)) AS given (a, b)` over arrays for
/// any other number. `FROM unnest($1, $2)` would return the same rows, and take up to three times as long for eleven columns,
/// because PostgreSQL stores each column of a function in `FROM` before it returns the first row (measured).
#[derive(Default)]
#[must_use]
pub struct Rows {
    columns: Vec<(&'static str, Box<dyn Values>)>,
}

impl Rows {
    /// The next column, with a value of each row.
    pub fn column<ST, V>(mut self, name: &'static str, values: impl IntoIterator<Item = V>) -> Self
    where
        ST: Send + Sync + 'static,
        V: ToSql<ST, Pg> + Send + Sync + 'static,
        Pg: HasSqlType<ST>,
    {
        let values = Typed { values: values.into_iter().collect(), sql_type: PhantomData::<fn() -> ST> };
        self.columns.push((name, Box::new(values)));
        self
    }
}

/// The values of one column of any type.
trait Values: Send + Sync {
    fn count(&self) -> usize;
    fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()>;
}

struct Typed<ST, V> {
    values: Vec<V>,
    sql_type: PhantomData<fn() -> ST>,
}

impl<ST, V> Values for Typed<ST, V>
where
    ST: Send + Sync + 'static,
    V: ToSql<ST, Pg> + Send + Sync,
    Pg: HasSqlType<ST>,
{
    fn count(&self) -> usize {
        self.values.len()
    }

    fn bind<'b>(&'b self, out: &mut AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        match self.values.as_slice() {
            [value] => out.push_bind_param(value),
            values => out.push_bind_param::<Array<ST>, [V]>(values),
        }
    }
}

impl QueryFragment<Pg> for Rows {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let one = self.columns.iter().all(|(_, values)| values.count() == 1);
        let (before, after) = if one { ("", "") } else { ("unnest(", ")") };
        out.push_sql(if one { "(VALUES (" } else { "(SELECT " });
        push_list(&self.columns, &mut out, |(_, values), out| {
            out.push_sql(before);
            values.bind(out)?;
            out.push_sql(after);
            Ok(())
        })?;
        out.push_sql(if one { ")) AS given (" } else { ") AS given (" });
        push_list(&self.columns, &mut out, |(name, _), out| out.push_identifier(name))?;
        out.push_sql(")");
        Ok(())
    }
}

/// A statement of text, then [`Rows`] under the alias `given`, then text. Its result rows have the SQL type `ST`.
#[must_use]
pub struct WithRows<ST> {
    before: &'static str,
    rows: Rows,
    after: &'static str,
    result: PhantomData<fn() -> ST>,
}

impl<ST> WithRows<ST> {
    /// Builds the statement.
    pub fn new(before: &'static str, rows: Rows, after: &'static str) -> Self {
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

/// Writes a comma-separated list.
pub(crate) fn push_list<'b, T>(
    members: &'b [T],
    out: &mut AstPass<'_, 'b, Pg>,
    push: impl Fn(&'b T, &mut AstPass<'_, 'b, Pg>) -> QueryResult<()>,
) -> QueryResult<()> {
    for (number, member) in members.iter().enumerate() {
        if number > 0 {
            out.push_sql(", ");
        }
        push(member, out)?;
    }
    Ok(())
}
