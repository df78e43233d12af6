//! The gauges of money that are read from the database: unknown outcomes, open reviews, and the sum of the ledger.

use database::{Connection, Result};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double, Text};
use diesel_async::RunQueryDsl;
use metrics::{Readings, Sample};
use strum::VariantArray;

use crate::domain::review::Reason;

/// Reads the partial indexes of unknown rows, up to a limit.
const UNKNOWN: &str = "\
    SELECT 'charge' AS kind, count(*) AS number, \
           coalesce(extract(epoch FROM clock_timestamp() - min(updated_at)), 0)::float8 AS oldest_seconds \
      FROM (SELECT updated_at FROM payment WHERE state = 'unknown' LIMIT 10000) AS unknown \
    UNION ALL \
    SELECT 'refund', count(*), coalesce(extract(epoch FROM clock_timestamp() - min(updated_at)), 0)::float8 \
      FROM (SELECT updated_at FROM refund WHERE state = 'unknown' LIMIT 10000) AS unknown";

#[derive(QueryableByName)]
struct Group {
    #[diesel(sql_type = Text)]
    kind: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
    #[diesel(sql_type = Double)]
    oldest_seconds: f64,
}

/// Reads the index of open reviews, up to a limit.
const REVIEWS: &str = "\
    SELECT reason AS kind, count(*) AS number, \
           coalesce(extract(epoch FROM clock_timestamp() - min(opened_at)), 0)::float8 AS oldest_seconds \
      FROM (SELECT reason, opened_at FROM review WHERE resolution IS NULL LIMIT 10000) AS open GROUP BY reason";

/// Adds the stored balances and the latest 1000 ledger transactions behind their mark. Both are sets of whole transactions, so
/// both sum to zero. The number of balances grows with tenants, and not with payments.
const LEDGER: &str = "\
    SELECT currency, sum(amount)::bigint AS amount \
      FROM (SELECT currency, debit - credit AS amount FROM ledger_balance \
            UNION ALL \
            SELECT currency, amount FROM ledger_entry \
             WHERE transaction_id > (SELECT greatest(folded_id, (SELECT max(id) FROM ledger_transaction) - 1000) \
                                       FROM ledger_mark)) AS part \
     GROUP BY currency";

#[derive(QueryableByName)]
struct Sum {
    #[diesel(sql_type = Text)]
    currency: String,
    #[diesel(sql_type = BigInt)]
    amount: i64,
}

/// Reads the gauges of money.
pub(crate) async fn read_metrics(connection: &Connection, readings: &mut Readings) -> Result<()> {
    let mut connection = connection;
    let unknown: Vec<Group> = sql_query(UNKNOWN).load(&mut connection).await?;
    readings.add_all(
        "payments_unknown",
        "Charges and refunds whose outcome at the processor is not known; counted up to 10000",
        unknown.iter().map(|row| Sample::labelled("kind", &row.kind, row.number)),
    );
    readings.add_all(
        "payments_oldest_unknown_seconds",
        "Time since the oldest unknown charge or refund last changed; 0 if there is none",
        unknown.iter().map(|row| Sample::labelled("kind", &row.kind, row.oldest_seconds)),
    );
    let reviews: Vec<Group> = sql_query(REVIEWS).load(&mut connection).await?;
    let of = |reason: &Reason| {
        let reason = <&'static str>::from(*reason);
        (reason, reviews.iter().find(|row| row.kind == reason).map_or(0, |row| row.number))
    };
    readings.add_all(
        "payments_open_reviews",
        "Reviews that wait for an operator; counted up to 10000",
        Reason::VARIANTS.iter().map(of).map(|(reason, number)| Sample::labelled("reason", reason, number)),
    );
    readings.add(
        "payments_oldest_review_seconds",
        "Age of the oldest open review; 0 if there is none",
        reviews.iter().map(|row| row.oldest_seconds).fold(0.0, f64::max),
    );
    let sums: Vec<Sum> = sql_query(LEDGER).load(&mut connection).await?;
    readings.add_all(
        "payments_ledger_sum",
        "Sum of the ledger in minor units; must be 0",
        sums.into_iter().map(|Sum { currency, amount }| Sample::labelled("currency", currency, amount)),
    );
    Ok(())
}
