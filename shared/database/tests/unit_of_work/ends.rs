//! Committed, rolled back, dropped, poisoned: how a transaction ends.

use database::Error;
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::eventually;

use crate::bench::{note, notebook, notes, open_transactions, patient, write};

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_keeps_and_a_rollback_does_not() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 2).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_leaves_nothing_open() {
    let database = notebook().await;
    let patient = patient(&database);
    let mut tx = patient.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    assert_eq!(open_transactions(&database).await, 1);
    drop(tx);
    eventually("the dropped transaction ends at the server", async || {
        (open_transactions(&database).await == 0).then_some(())
    })
    .await;
    // Its lock on the key is gone too: the same row can be written at once.
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_future_dropped_in_the_middle_of_a_statement_leaves_nothing_open() {
    let database = notebook().await;
    let patient = patient(&database);
    let work = async {
        let mut tx = patient.begin().await.unwrap();
        write(&mut tx, 1).await.unwrap();
        tx.batch_execute("SELECT pg_sleep(1)").await.unwrap();
        tx.commit().await.unwrap();
    };
    let asleep = eventually("the work sleeps in its transaction", async || {
        (open_transactions(&database).await == 1).then_some(())
    });
    tokio::select! {
        () = work => panic!("the work should have been cancelled while it slept"),
        () = asleep => {}
    }
    eventually("the cancelled transaction ends at the server", async || {
        (open_transactions(&database).await == 0).then_some(())
    })
    .await;
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_dropped_in_a_kept_session_does_not_commit_with_the_next_one() {
    let database = notebook().await;
    let session = database.connection().await.unwrap();
    let mut dropped = database.begin_on(&session).await.unwrap();
    write(&mut dropped, 1).await.unwrap();
    drop(dropped);
    let mut next = database.begin_on(&session).await.unwrap();
    write(&mut next, 2).await.unwrap();
    next.commit().await.unwrap();
    assert_eq!(notes(&database).await, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swallowed_error_refuses_the_commit() {
    let database = notebook().await;
    // A failing row count, a failing row, and a failing batch: each way that a statement can end.
    for way in 0..3 {
        let mut tx = database.begin().await.unwrap();
        write(&mut tx, 1).await.unwrap();
        let swallowed = match way {
            0 => write(&mut tx, 1).await.is_err(),
            1 => {
                let insert = diesel::insert_into(note::table).values(note::id.eq(1)).returning(note::id);
                insert.get_result::<i64>(&mut tx).await.is_err()
            }
            _ => tx.batch_execute("SELECT 1 / 0").await.is_err(),
        };
        assert!(swallowed, "way {way} should have failed");
        assert!(matches!(tx.commit().await, Err(Error::Poisoned)), "way {way} was committed");
    }
    assert_eq!(notes(&database).await, [0_i64; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_undoes_its_own_part_and_the_rest_commits() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            write(tx, 2).await?;
            write(tx, 1).await?;
            Ok(())
        })
        .await;
    assert!(undone.unwrap_err().is_constraint("note_pkey"));
    write(&mut tx, 3).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_that_swallows_an_error_is_undone() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    let swallowed: Result<(), Error> = tx
        .savepoint(async |tx| {
            let _ = write(tx, 1).await;
            Ok(())
        })
        .await;
    assert!(matches!(swallowed, Err(Error::Poisoned)));
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_outer_savepoint_undoes_an_inner_one_that_succeeded() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    write(&mut tx, 1).await.unwrap();
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            write(tx, 2).await?;
            tx.savepoint(async |tx| write(tx, 3).await.map_err(Error::from)).await?;
            Err(Error::Poisoned)
        })
        .await;
    assert!(undone.is_err());
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
}
