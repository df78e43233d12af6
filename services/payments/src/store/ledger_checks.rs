//! The ledger as a whole, read as of one moment.

use database::{Database, Result, Tx};
use diesel::QueryableByName;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Text};
use diesel_async::RunQueryDsl;

/// What the audit asks of the ledger, in the audit's own words; an answer is a sentence for each difference. The chain
/// is not among it: it is computed anew.
pub(crate) const QUESTIONS: [(&str, &str); 3] = [
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
];

/// A transaction that sees one moment only and writes nothing. Its statements may take their time.
pub(crate) async fn moment(database: &Database) -> Result<Tx> {
    let mut tx = database.begin().await?;
    sql_query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY").execute(&mut tx).await?;
    sql_query("SET LOCAL statement_timeout = '10min'").execute(&mut tx).await?;
    Ok(tx)
}

/// What a question finds wrong.
pub(crate) async fn ask(tx: &mut Tx, question: &str) -> Result<Vec<String>> {
    #[derive(QueryableByName)]
    struct Found {
        #[diesel(sql_type = Text)]
        violation: String,
    }
    let found: Vec<Found> = sql_query(question).load(tx).await?;
    Ok(found.into_iter().map(|row| row.violation).collect())
}

/// How much there is.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Size {
    #[diesel(sql_type = BigInt)]
    pub(crate) transactions: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) entries: i64,
}

pub(crate) async fn size(tx: &mut Tx) -> Result<Size> {
    const SIZE: &str = "SELECT (SELECT count(*) FROM ledger_transaction) AS transactions, \
                               (SELECT count(*) FROM ledger_entry) AS entries";
    Ok(sql_query(SIZE).get_result(tx).await?)
}

/// What is in no chain although it was posted more than a minute ago, in sentences.
pub(crate) async fn unsealed(tx: &mut Tx) -> Result<Vec<String>> {
    const UNSEALED: &str = "\
        SELECT format('transaction %s (%s of payment %s), posted at %s, is not sealed', posted.id, posted.kind, \
                      posted.payment_id, posted.recorded_at) AS violation \
          FROM ledger_transaction AS posted \
         WHERE posted.recorded_at < clock_timestamp() - interval '1 minute' \
           AND NOT EXISTS (SELECT FROM ledger_seal AS seal WHERE seal.transaction_id = posted.id) \
         ORDER BY posted.id";
    ask(tx, UNSEALED).await
}
