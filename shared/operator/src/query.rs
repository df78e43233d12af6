//! Runs the query of a command that only reads.

use database::{Connection, Result};
use diesel::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{Jsonb, Text};
use diesel_async::RunQueryDsl;
use serde_json::Value;

use crate::report::Report;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    row: String,
}

/// Returns the rows of a query. Its only column, `row`, is the text of a JSON object: `row_to_json(…)::text`. The query reads the
/// arguments from one object: `$1 ->> 'name'`.
///
/// # Errors
/// Database errors.
pub async fn query(connection: &mut Connection, sql: &'static str, arguments: &Value) -> Result<Vec<Report>> {
    let rows: Vec<Row> = sql_query(sql).bind::<Jsonb, _>(arguments).load(connection).await?;
    let rows =
        rows.into_iter().map(|Row { row }| serde_json::from_str(&row)).collect::<std::result::Result<_, _>>();
    Ok(rows.map_err(|error| diesel::result::Error::DeserializationError(Box::new(error)))?)
}
