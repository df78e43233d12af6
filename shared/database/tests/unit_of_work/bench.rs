//! A table of notes, and ways to write to it.

use std::time::Duration;

use database::{Buffered, Database, Settings, Tx, Write};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::TestDatabase;
use tokio::runtime::Handle;

diesel::table! {
    note (id) { id -> BigInt, }
}

/// A row that waits until the end.
pub(crate) struct Note(pub(crate) i64);

impl Buffered for Note {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = |Note(id)| diesel::insert_into(note::table).values(note::id.eq(id));
        rows.into_iter().map(|note| Write::new(insert(note))).collect()
    }
}

/// Another type of row, in the same table, by another statement.
pub(crate) struct Remark(pub(crate) i64);

impl Buffered for Remark {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert =
            |Remark(id)| diesel::insert_into(note::table).values(note::id.eq(id)).on_conflict_do_nothing();
        rows.into_iter().map(|remark| Write::new(insert(remark))).collect()
    }
}

pub(crate) async fn notebook() -> TestDatabase {
    let database = TestDatabase::plain().await;
    let mut owner = database.owner().await;
    owner
        .batch_execute("CREATE TABLE note (id bigint PRIMARY KEY); GRANT ALL ON note TO idem_service")
        .await
        .unwrap();
    database
}

pub(crate) async fn write(tx: &mut Tx, id: i64) -> QueryResult<usize> {
    diesel::insert_into(note::table).values(note::id.eq(id)).execute(tx).await
}

pub(crate) async fn notes(database: &Database) -> Vec<i64> {
    let mut connection = database.connection().await.unwrap();
    note::table.select(note::id).order(note::id).load(&mut connection).await.unwrap()
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// A pool whose transactions the server does not end by itself: what ends one is the dropping alone.
pub(crate) fn patient(database: &TestDatabase) -> Database {
    let settings = Settings {
        idle_in_transaction_timeout: Duration::from_mins(10),
        ..Settings::new(database.service_url(None))
    };
    Database::new(&settings, Handle::current()).unwrap()
}

/// Sessions of this test's database that are inside a transaction.
pub(crate) async fn open_transactions(database: &TestDatabase) -> i64 {
    // As the same role: another one would not be shown when a transaction began.
    let mut watcher = database.second_instance().connection().await.unwrap();
    let sessions: Count = diesel::sql_query(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND pid <> pg_backend_pid() AND xact_start IS NOT NULL",
    )
    .get_result(&mut watcher)
    .await
    .unwrap();
    sessions.count
}
