//! Aggregates: locked once, changed in memory, written once.

use chrono::{DateTime, Utc};
use database::functions::clock_timestamp;
use database::{Addable, Aggregate, Database, Error, InsertRows, Result, Settings, Tx, UpdateRows, Write};
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::{RoundTrips, TestDatabase};
use tokio::runtime::Handle;

diesel::table! {
    account (id) { id -> BigInt, balance -> BigInt, }
}

const TABLE: &str = "CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL); \
                     GRANT ALL ON account TO idem_service; INSERT INTO account SELECT n, 0 FROM generate_series(1, 5) AS n";

#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    id: i64,
    balance: i64,
}

impl Aggregate for Account {
    type Key = i64;

    fn key(&self) -> i64 {
        self.id
    }

    async fn load(mut tx: &Tx, keys: &[i64]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let rows: Vec<(i64, i64, DateTime<Utc>)> = account::table
            .filter(account::id.eq_any(keys))
            .order(account::id)
            .select((account::id, account::balance, clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows.into_iter().map(|(id, balance, at)| (Self { id, balance }, at)).collect())
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(account::table, changed)
            .key(account::id, |row| row.id)
            .column(account::balance, |row| row.balance);
        vec![Write::new(update)]
    }
}

impl Addable for Account {
    fn inserts(added: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(account::table, added)
            .column(account::id, |row| row.id)
            .column(account::balance, |row| row.balance);
        vec![Write::new(insert)]
    }
}

async fn bank() -> TestDatabase {
    let database = TestDatabase::plain().await;
    database.owner().await.batch_execute(TABLE).await.unwrap();
    database
}

/// Adds one to the balance.
async fn pay_in(tx: &mut Tx, id: i64) -> Result<i64> {
    let account = tx.lock::<Account>(id).await?.unwrap();
    Ok(account.change(tx, |account, _| account.balance += 1).balance)
}

async fn balances(database: &Database) -> Vec<(i64, i64)> {
    let mut connection = database.connection().await.unwrap();
    account::table.order(account::id).load(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_changes_of_many_aggregates_are_locked_and_written_in_two_round_trips() {
    let counter = RoundTrips::to_postgres().await;
    let database = bank().await;
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(Some(counter.address()))) };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let mut counts = Vec::new();
    for _ in 0..4 {
        let mut tx = distant.begin().await.unwrap();
        let work = async {
            tx.lock_all::<Account>(1..=4).await?;
            for id in [1, 2, 1, 4, 1] {
                pay_in(&mut tx, id).await?;
            }
            tx.flush().await
        };
        let (done, count) = counter.of(work).await;
        done.unwrap();
        tx.commit().await.unwrap();
        counts.push(count);
    }
    assert_eq!(counts.iter().min(), Some(&2), "{counts:?}");
    assert_eq!(balances(&database).await, [(1, 12), (2, 4), (3, 0), (4, 4), (5, 0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_that_was_added_is_changed_like_any_other() {
    let database = bank().await;
    let mut tx = database.begin().await.unwrap();
    assert!(tx.lock::<Account>(9).await.unwrap().is_none());
    let added = tx.add(Account { id: 9, balance: 100 }, DateTime::UNIX_EPOCH);
    assert_eq!(added.balance, 100);
    assert_eq!(pay_in(&mut tx, 9).await.unwrap(), 101); // written by the insert
    tx.flush().await.unwrap();
    assert_eq!(pay_in(&mut tx, 9).await.unwrap(), 102); // written by an update
    tx.commit().await.unwrap();
    assert_eq!(balances(&database).await.last(), Some(&(9, 102)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_takes_its_changes_back_and_none_before_it() {
    let database = bank().await;
    let mut tx = database.begin().await.unwrap();
    pay_in(&mut tx, 1).await.unwrap();
    let undone: Result<()> = tx
        .savepoint(async |tx| {
            assert_eq!(pay_in(tx, 1).await?, 2);
            assert_eq!(pay_in(tx, 2).await?, 1);
            tx.add(Account { id: 9, balance: 1 }, DateTime::UNIX_EPOCH);
            tx.flush().await?;
            assert_eq!(pay_in(tx, 1).await?, 3);
            Err(Error::Poisoned)
        })
        .await;
    assert!(undone.is_err());
    assert_eq!(pay_in(&mut tx, 1).await.unwrap(), 2);
    assert!(tx.lock::<Account>(9).await.unwrap().is_none());
    tx.commit().await.unwrap();
    assert_eq!(balances(&database).await, [(1, 2), (2, 0), (3, 0), (4, 0), (5, 0)]);
}
