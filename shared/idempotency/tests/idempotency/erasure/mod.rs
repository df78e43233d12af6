//! Erasure removes expired rows and keeps all others, and an erased key is still refused. Times are set back in the rows.

mod keys;
mod operations;
mod partitions;
mod races;

use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::TestDatabase;
use tokio_util::sync::CancellationToken;

use crate::shop::{self, Number};

/// Moves every expired record.
async fn erase(database: &database::Database) -> i64 {
    idempotency::erase_expired_keys(database, &CancellationToken::new()).await.unwrap()
}

/// Runs statements as the owner.
async fn change(database: &TestDatabase, statements: &str) {
    database.owner().await.batch_execute(statements).await.unwrap();
}

/// The stored responses expired a moment ago.
async fn expire(database: &TestDatabase) {
    change(database, "UPDATE idempotency_record SET expires_at = clock_timestamp() - interval '1 ms'").await;
}

/// A number that this query counts.
async fn count(database: &TestDatabase, query: &str) -> i64 {
    let mut owner = database.owner().await;
    diesel::sql_query(query).get_result::<Number>(&mut owner).await.unwrap().number
}

/// The numbers of records, responses and tombstones.
async fn rows(database: &TestDatabase) -> (i64, i64, i64) {
    (
        shop::records(database).await,
        count(database, "SELECT count(*) AS number FROM idempotency_snapshot").await,
        count(database, "SELECT count(*) AS number FROM idempotency_tombstone").await,
    )
}
