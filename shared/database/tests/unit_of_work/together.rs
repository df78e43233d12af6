//! Pipelining: BEGIN travels with the first reads, all buffered rows travel together, and COMMIT travels behind them.

use std::net::SocketAddr;

use database::functions::pg_try_advisory_xact_lock;
use database::{Buffered, Database, Result, Settings, Tx, UnitOfWork, Write};
use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel_async::RunQueryDsl;
use testkit::{RoundTrips, TestDatabase};
use tokio::runtime::Handle;

use crate::bench::{Note, Remark, notebook, notes, write};

/// A pool of one connection, so that the second use of it finds everything prepared.
fn one_connection(database: &TestDatabase, through: Option<SocketAddr>) -> Database {
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(through)) };
    Database::new(&settings, Handle::current()).unwrap()
}

async fn lock(mut tx: &Tx) -> Result<bool> {
    Ok(diesel::select(pg_try_advisory_xact_lock(42)).get_result(&mut tx).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reads_sent_with_begin_run_in_its_transaction() {
    let database = notebook().await;
    let [ours, others] = [(); 2].map(|()| one_connection(&database, None));
    // The first time the statement is not prepared yet, the second time it is.
    for _ in 0..2 {
        let (tx, locked) = ours.begin_reading(lock).await.unwrap();
        assert!(locked);
        let (refused, locked) = others.begin_reading(lock).await.unwrap();
        assert!(!locked, "the lock ended before its transaction");
        refused.rollback().await.unwrap();
        tx.rollback().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn begin_and_its_first_reads_are_one_round_trip() {
    let counter = RoundTrips::to_postgres().await;
    let database = notebook().await;
    let distant = one_connection(&database, Some(counter.address()));
    let mut counts = Vec::new();
    for _ in 0..4 {
        let (begun, count) = counter.of(distant.begin_reading(lock)).await;
        begun.unwrap().0.rollback().await.unwrap();
        counts.push(count);
    }
    assert_eq!(counts.iter().min(), Some(&1), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_in_another_order_are_the_same_prepared_statement() {
    let counter = RoundTrips::to_postgres().await;
    let database = notebook().await;
    let distant = one_connection(&database, Some(counter.address()));
    for number in [0, 2] {
        let mut tx = distant.begin().await.unwrap();
        tx.buffer(Note(number));
        tx.buffer(Remark(number + 1));
        tx.commit().await.unwrap();
    }
    let mut tx = distant.begin().await.unwrap();
    tx.buffer(Remark(5));
    tx.buffer(Note(4));
    let (written, count) = counter.of(tx.flush()).await;
    written.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(count, 1, "another statement was prepared");
    assert_eq!(notes(&database).await, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_all_types_are_one_statement_that_stays_prepared() {
    let counter = RoundTrips::to_postgres().await;
    let database = notebook().await;
    let distant = one_connection(&database, Some(counter.address()));
    let mut counts = Vec::new();
    for number in 0..4 {
        let mut tx = distant.begin().await.unwrap();
        tx.buffer(Note(2 * number));
        tx.buffer(Remark(2 * number + 1));
        let (written, count) = counter.of(tx.flush()).await;
        written.unwrap();
        tx.commit().await.unwrap();
        counts.push(count);
    }
    assert_eq!(counts.iter().min(), Some(&1), "{counts:?}");
    assert_eq!(notes(&database).await, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_buffered_rows_and_commit_are_one_round_trip() {
    let counter = RoundTrips::to_postgres().await;
    let database = notebook().await;
    let distant = one_connection(&database, Some(counter.address()));
    let mut counts = Vec::new();
    for number in 0..4 {
        let mut tx = distant.begin().await.unwrap();
        tx.buffer(Note(number));
        let (committed, count) = counter.of(tx.commit()).await;
        committed.unwrap();
        counts.push(count);
    }
    assert_eq!(counts.iter().min(), Some(&1), "{counts:?}");
    assert_eq!(notes(&database).await, [0, 1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buffered_row_that_is_refused_at_commit_takes_the_whole_transaction_with_it() {
    let database = notebook().await;
    let ours = one_connection(&database, None);
    ours.begin().await.unwrap().commit().await.unwrap(); // COMMIT is prepared
    // The first time the write is not prepared yet, and COMMIT must not overtake it. The second time it is.
    for _ in 0..2 {
        let mut tx = ours.begin().await.unwrap();
        write(&mut tx, 1).await.unwrap();
        tx.buffer(Note(1));
        assert!(tx.commit().await.unwrap_err().is_constraint("note_pkey"));
        assert_eq!(notes(&database).await, [0_i64; 0]);
    }
    // The connection returned to the pool outside a transaction.
    let mut tx = ours.begin().await.unwrap();
    tx.buffer(Note(2));
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [2]);
}

/// A row that cannot be encoded, so that nothing of its statement is sent.
struct Unwritable;

impl Buffered for Unwritable {
    fn writes(_: Vec<Self>) -> Vec<Write> {
        vec![Write::new(Self)]
    }
}

impl QueryFragment<Pg> for Unwritable {
    fn walk_ast<'b>(&'b self, _: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        Err(diesel::result::Error::SerializationError("of no type".into()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_not_sent_is_not_followed_by_commit() {
    let database = notebook().await;
    let ours = one_connection(&database, None);
    ours.begin().await.unwrap().commit().await.unwrap(); // COMMIT is prepared
    let mut tx = ours.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.buffer(Unwritable);
    assert!(matches!(tx.commit().await, Err(database::Error::Query(_))));
    assert_eq!(notes(&database).await, [0_i64; 0]);
}
