//! The contents of a database as row counts and digests, so that two moments can be compared.

use std::collections::BTreeMap;

use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::{QueryResult, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

/// Writes for each table a query that counts its rows and computes a digest. Leases and cursors are left out.
const TABLES: &str = include_str!("../facts/tables.sql");

/// Rows and digest of each table, by its name.
pub type Contents = BTreeMap<String, (i64, Option<String>)>;

/// Reads the contents of a database, without leases and cursors.
///
/// # Errors
/// The error of the first query that fails.
pub async fn contents(connection: &mut AsyncPgConnection) -> QueryResult<Contents> {
    #[derive(QueryableByName)]
    struct Table {
        #[diesel(sql_type = Text)]
        name: String,
        #[diesel(sql_type = Text)]
        query: String,
    }
    #[derive(QueryableByName)]
    struct Digest {
        #[diesel(sql_type = BigInt)]
        rows: i64,
        #[diesel(sql_type = Nullable<Text>)]
        digest: Option<String>,
    }
    let tables: Vec<Table> = sql_query(TABLES).load(connection).await?;
    let mut contents = Contents::new();
    for Table { name, query } in tables {
        // A table's name cannot be bound: PostgreSQL has written and quoted this query itself.
        let found: Digest = sql_query(query).get_result(connection).await?;
        contents.insert(name, (found.rows, found.digest));
    }
    Ok(contents)
}
