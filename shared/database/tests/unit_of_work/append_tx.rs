//! Units of work that share a transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use database::{AppendTx, Database, Error, Settings, UnitOfWork};
use diesel::prelude::*;
use diesel_async::SimpleAsyncConnection;
use futures_util::future::{join_all, try_join_all};
use testkit::RoundTrips;
use tokio::runtime::Handle;

use crate::bench::{Note, note, notebook, notes, open_transactions};

async fn read(part: &AppendTx, id: i64) -> Result<Vec<i64>, Error> {
    part.read(note::table.filter(note::id.eq(id)).select(note::id)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reads_of_parts_are_one_round_trip() {
    let counter = RoundTrips::to_postgres().await;
    let database = notebook().await;
    database.owner().await.batch_execute("INSERT INTO note SELECT generate_series(1, 20)").await.unwrap();
    let settings = Settings { pool_size: 1, ..Settings::new(database.service_url(Some(counter.address()))) };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let mut counts = Vec::new();
    for _ in 0..4 {
        let shared = distant.begin().await.unwrap().share();
        let parts: Vec<AppendTx> = (0..20).map(|_| shared.append_tx(None)).collect();
        let reads = parts.iter().zip(1..).map(|(part, id)| read(part, id));
        let (found, count) = counter.of(try_join_all(reads)).await;
        assert!(found.unwrap().concat().into_iter().eq(1..=20));
        shared.collect(parts).unwrap().rollback().await.unwrap();
        counts.push(count);
    }
    assert_eq!(counts.iter().min(), Some(&1), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_commit_together_and_a_dropped_part_leaves_nothing() {
    let database = notebook().await;
    let rung = Arc::new(AtomicUsize::new(0));
    let shared = database.begin().await.unwrap().share();
    let mut parts: Vec<AppendTx> =
        (1..=3).map(|number| shared.append_tx(Some(format!("trace {number}")))).collect();
    for (part, id) in parts.iter_mut().zip(1..) {
        assert_eq!(part.traceparent(), Some(format!("trace {id}")));
        part.buffer(Note(id));
        let hook = Arc::clone(&rung);
        part.after_commit(move || {
            hook.fetch_add(1, Ordering::SeqCst);
        });
    }
    drop(parts.remove(1));
    let tx = shared.collect(parts).unwrap();
    assert_eq!((notes(&database).await, rung.load(Ordering::SeqCst)), (vec![], 0));
    tx.commit().await.unwrap();
    assert_eq!((notes(&database).await, rung.load(Ordering::SeqCst)), (vec![1, 3], 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_transaction_is_not_committed_while_a_part_is_running() {
    let database = notebook().await;
    let shared = database.begin().await.unwrap().share();
    let (mut kept, in_use) = (shared.append_tx(None), shared.append_tx(None));
    kept.buffer(Note(1));
    assert!(matches!(shared.collect([kept]), Err(Error::Poisoned)));
    drop(in_use);
    testkit::eventually("the transaction ends", async || {
        (open_transactions(&database).await == 0).then_some(())
    })
    .await;
    assert!(notes(&database).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_failed_in_one_part_refuses_the_commit_of_all() {
    let database = notebook().await;
    let shared = database.begin().await.unwrap().share();
    let mut parts: Vec<AppendTx> = (1..=2).map(|_| shared.append_tx(None)).collect();
    parts[0].buffer(Note(1));
    let failing = note::table.select(diesel::dsl::sql::<diesel::sql_types::Integer>("1 / 0"));
    assert!(parts[1].read::<i32, _>(failing).await.is_err());
    let after = join_all(parts.iter().map(|part| read(part, 1))).await;
    assert!(after.iter().all(Result::is_err));
    assert!(matches!(shared.collect(parts).unwrap().commit().await, Err(Error::Poisoned | Error::Query(_))));
    assert!(notes(&database).await.is_empty());
}
