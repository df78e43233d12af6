//! One statement for any number of rows.

use chrono::{DateTime, TimeZone, Utc};
use database::functions::clock_timestamp;
use database::{Buffered, Insert, InsertRows, UnitOfWork};
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

struct Entry(i64, Option<String>, Option<DateTime<Utc>>);

impl Buffered for Entry {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        let insert = InsertRows::new(diary::table, rows)
            .column(diary::id, |Self(id, ..)| *id)
            .column(diary::words, |Self(_, words, _)| words.take())
            .all(diary::kind, "plain".into_sql::<Text>())
            .column_or(diary::at, |Self(.., at)| *at, clock_timestamp());
        vec![Insert::new(insert)]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_row_and_many_are_written_with_given_values_and_defaults() {
    let database = notebook().await;
    database.owner().await.batch_execute(TABLE).await.unwrap();
    let past = Utc.with_ymd_and_hms(2001, 2, 3, 4, 5, 6).unwrap();
    for rows in [0..1, 1..4] {
        let mut tx = database.begin().await.unwrap();
        for id in rows {
            let odd = id % 2 == 1;
            tx.buffer(Entry(id, odd.then(|| format!("it's {id}")), odd.then_some(past)));
        }
        tx.commit().await.unwrap();
    }
    let mut connection = database.connection().await.unwrap();
    let rows: Vec<(i64, Option<String>, String, DateTime<Utc>)> =
        diary::table.order(diary::id).load(&mut connection).await.unwrap();
    assert_eq!(rows.len(), 4);
    for (id, words, kind, at) in rows {
        let odd = id % 2 == 1;
        assert_eq!((words, kind.as_str()), (odd.then(|| format!("it's {id}")), "plain"));
        assert_eq!(at == past, odd, "{id}: {at}");
    }
}
