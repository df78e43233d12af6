//! The queries of `payments ledger verify`. They read one snapshot of the database and write nothing.

use std::time::Duration;

use database::{Database, Result, Tx};
use diesel::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

/// The checks: a name and a query. Each query is the text of an audit, and returns one sentence for each difference.
pub(crate) const CHECKS: [(&str, &str); 4] = [
    (
        "every transaction sums to zero",
        include_str!("../../../../audits/payments/the_ledger_sums_to_zero.sql"),
    ),
    (
        "the ledger says what happened",
        include_str!("../../../../audits/payments/the_ledger_says_what_happened.sql"),
    ),
    (
        "clearing is empty for settled orders",
        include_str!("../../../../audits/payments/clearing_is_empty_for_a_settled_order.sql"),
    ),
    (
        "balances are the sums of the ledger",
        include_str!("../../../../audits/payments/balances_are_the_sums_of_the_ledger.sql"),
    ),
];

/// Begins a read-only transaction on one snapshot. Its statements may take 10 minutes each.
pub(crate) async fn begin_snapshot(database: &Database) -> Result<Tx> {
    let mut tx = database.begin().await?;
    sql_query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(&mut tx).await?;
    tx.set_statement_timeout(Duration::from_mins(10)).await?;
    Ok(tx)
}

/// Runs the query of a check and returns its differences.
pub(crate) async fn differences(tx: &mut Tx, query: &str) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Difference {
        #[diesel(sql_type = Text)]
        violation: String,
    }
    let found: Vec<Difference> = sql_query(query).load(tx).await?;
    Ok(found.into_iter().map(|row| row.violation).collect())
}

/// The numbers of rows in the ledger.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Size {
    #[diesel(sql_type = BigInt)]
    pub(crate) transactions: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) entries: i64,
}

/// Counts the rows of the ledger.
pub(crate) async fn size(tx: &mut Tx) -> Result<Size> {
    const SIZE: &str = "SELECT (SELECT count(*) FROM ledger_transaction) AS transactions, \
                               (SELECT count(*) FROM ledger_entry) AS entries";
    Ok(sql_query(SIZE).get_result(tx).await?)
}
