//! One statement for any number of rows.

use chrono::{DateTime, TimeZone, Utc};
use database::functions::clock_timestamp;
use database::{Buffered, InsertRows, UnitOfWork, UpdateRows, Write};
use diesel::IntoSql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

use crate::bench::notebook;

diesel::table! {
    diary (id) { id -> BigInt, words -> Nullable<Text>, kind -> Text, at -> Timestamptz, }
}

const TABLE: &str = "CREATE TABLE diary (id bigint PRIMARY KEY, words text, kind text NOT NULL, at timestamptz NOT NULL); \
                     GRANT ALL ON diary TO idem_service";

struct Entry(i64, Option<String>, DateTime<Utc>);

impl Buffered for Entry {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(diary::table, rows)
            .column(diary::id, |Self(id, ..)| *id)
            .column(diary::words, |Self(_, words, _)| words.take())
            .all(diary::kind, "plain".into_sql::<Text>())
            .column(diary::at, |Self(.., at)| *at);
        vec![Write::new(insert)]
    }
}

/// New words of an entry.
struct Rewritten(i64, Option<String>);

impl Buffered for Rewritten {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(diary::table, rows)
            .key(diary::id, |Self(id, _)| *id)
            .column(diary::words, |Self(_, words)| words.take())
            .all(diary::at, clock_timestamp());
        vec![Write::new(update)]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_and_many_are_updated_by_the_statement_that_inserts_others() {
    let database = notebook().await;
    database.owner().await.batch_execute(TABLE).await.unwrap();
    let past = Utc.with_ymd_and_hms(2001, 2, 3, 4, 5, 6).unwrap();
    let mut tx = database.begin().await.unwrap();
    (0..5).for_each(|id| tx.buffer(Entry(id, None, past)));
    tx.commit().await.unwrap();
    for ids in [0..1, 1..4] {
        let mut tx = database.begin().await.unwrap();
        tx.buffer(Entry(10 + ids.start, None, past));
        ids.for_each(|id| tx.buffer(Rewritten(id, (id != 2).then(|| format!("it's {id}")))));
        tx.commit().await.unwrap();
    }
    let mut connection = database.connection().await.unwrap();
    let rows = diary::table.order(diary::id).select((diary::id, diary::words, diary::at));
    let rows: Vec<(i64, Option<String>, DateTime<Utc>)> = rows.load(&mut connection).await.unwrap();
    let words = |id: i64| [0, 1, 3].contains(&id).then(|| format!("it's {id}"));
    let expected: Vec<_> = [0, 1, 2, 3, 4, 10, 11].map(|id| (id, words(id), id < 4)).into();
    assert_eq!(rows.into_iter().map(|(id, words, at)| (id, words, at != past)).collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_and_many_are_written_with_given_values_and_expressions() {
    let database = notebook().await;
    database.owner().await.batch_execute(TABLE).await.unwrap();
    let past = Utc.with_ymd_and_hms(2001, 2, 3, 4, 5, 6).unwrap();
    for rows in [0..1, 1..4] {
        let mut tx = database.begin().await.unwrap();
        for id in rows {
            let odd = id % 2 == 1;
            tx.buffer(Entry(id, odd.then(|| format!("it's {id}")), past));
        }
        tx.commit().await.unwrap();
    }
    let mut connection = database.connection().await.unwrap();
    let rows: Vec<(i64, Option<String>, String, DateTime<Utc>)> =
        diary::table.order(diary::id).load(&mut connection).await.unwrap();
    assert_eq!(rows.len(), 4);
    for (id, words, kind, at) in rows {
        let odd = id % 2 == 1;
        assert_eq!((words, kind.as_str(), at), (odd.then(|| format!("it's {id}")), "plain", past));
    }
}
