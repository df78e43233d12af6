//! Erasure: three jobs that remove expired records, tombstones and operations. Each runs one pass in small batches, each batch in a transaction of its
//! own, so a pass may end at any point. Passes of several instances may overlap.
//!
//! | job | removes | when |
//! |---|---|---|
//! | [`erase_expired_keys`] | a record and its response; leaves a tombstone | the response has expired |
//! | [`drop_tombstones`] | a partition of tombstones | all its keys are free again |
//! | [`erase_operations`] | an operation | as long after its end as a key is kept |
//!
//! [`expire_responses`] lets responses expire before their time, because the texts in them must be erased.
//!
//! All times are compared with the database's clock. A record without a final outcome is never removed.

mod early;
mod keys;
mod operations;
mod partitions;

use std::time::Duration;

use database::{Database, Result};
use diesel::sql_types::BigInt;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use tokio_util::sync::CancellationToken;

pub use early::{ResponsesOf, expire_responses};
pub use keys::erase_expired_keys;
pub use operations::erase_operations;
pub use partitions::drop_tombstones;

/// The number of rows that one transaction removes.
const BATCH: i64 = 500;
/// The pause after a full batch. Commands use the database meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// A row with a count.
#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Runs the statement for one batch, and adds the number of its rows. Reports whether the pass goes on, and pauses before it
/// does.
async fn erase_batch(
    database: &Database,
    stop: &CancellationToken,
    statement: &str,
    erased: &mut i64,
) -> Result<bool> {
    let batch = sql_query(statement).bind::<BigInt, _>(BATCH);
    let Count { number } = batch.get_result(&mut database.connection().await?).await?;
    *erased += number;
    Ok(number >= BATCH && stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_some())
}
