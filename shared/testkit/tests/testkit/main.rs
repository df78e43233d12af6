#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! `RoundTrips` counts right.

use database::functions::clock_timestamp;
use database::{Database, Settings};
use diesel_async::RunQueryDsl;
use testkit::{RoundTrips, TestDatabase};
use tokio::runtime::Handle;

#[tokio::test(flavor = "multi_thread")]
async fn pipelined_statements_are_one_round_trip_and_sequential_ones_are_many() {
    let database = TestDatabase::plain().await;
    let counter = RoundTrips::to_postgres().await;
    let url = database.service_url(Some(counter.address()));
    let through = Database::new(&Settings::new(url), Handle::current()).unwrap();
    let mut tx = through.begin().await.unwrap();
    let ask = || diesel::select(clock_timestamp());
    // The first execution also prepares the statement. Later ones are what a warm service sends.
    ask().execute(&mut tx).await.unwrap();

    let ((), waited) = counter
        .of(async {
            for _ in 0..3 {
                ask().execute(&mut tx).await.unwrap();
            }
        })
        .await;
    assert_eq!(waited, 3);

    let (mut one, mut two, mut three) = (&tx, &tx, &tx);
    let (all, together) = counter
        .of(async {
            tokio::try_join!(ask().execute(&mut one), ask().execute(&mut two), ask().execute(&mut three))
        })
        .await;
    all.unwrap();
    assert_eq!(together, 1);
    tx.rollback().await.unwrap();
}
