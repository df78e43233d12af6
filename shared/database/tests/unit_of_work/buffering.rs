//! Rows and hooks that wait for the commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use database::{Error, UnitOfWork};

use crate::bench::{Note, notebook, notes};

#[tokio::test(flavor = "multi_thread")]
async fn buffered_rows_are_written_by_the_commit() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    tx.buffer(Note(1));
    tx.buffer(Note(2));
    assert_eq!(notes(&database).await, [0_i64; 0]);
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_savepoint_takes_its_buffered_rows_back() {
    let database = notebook().await;
    let rung = Arc::new(AtomicUsize::new(0));
    let ring = |times: usize| {
        let rung = Arc::clone(&rung);
        move || {
            rung.fetch_add(times, Ordering::SeqCst);
        }
    };
    let mut tx = database.begin().await.unwrap();
    tx.buffer(Note(1));
    tx.after_commit(ring(1));
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            tx.buffer(Note(2));
            tx.after_commit(ring(10));
            Err(Error::Poisoned)
        })
        .await;
    assert!(undone.is_err());
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1]);
    assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_after_a_commit_and_never_otherwise() {
    let database = notebook().await;
    let rung = Arc::new(AtomicUsize::new(0));
    for commit in [false, true] {
        let mut tx = database.begin().await.unwrap();
        let hook = Arc::clone(&rung);
        tx.after_commit(move || {
            hook.fetch_add(1, Ordering::SeqCst);
        });
        assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 0);
        if commit { tx.commit().await.unwrap() } else { tx.rollback().await.unwrap() }
    }
    assert_eq!(AtomicUsize::load(&rung, Ordering::SeqCst), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_inside_a_savepoint_writes_the_rows_of_the_savepoint_only() {
    let database = notebook().await;
    let mut tx = database.begin().await.unwrap();
    tx.buffer(Note(1));
    let undone: Result<(), Error> = tx
        .savepoint(async |tx| {
            tx.buffer(Note(2));
            tx.flush().await?;
            Err(Error::Poisoned)
        })
        .await;
    assert!(undone.is_err());
    let kept: Result<(), Error> = tx
        .savepoint(async |tx| {
            tx.buffer(Note(3));
            tx.flush().await
        })
        .await;
    kept.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(notes(&database).await, [1, 3]);
}
