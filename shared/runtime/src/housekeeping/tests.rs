//! The frame of the jobs, against a real PostgreSQL. Times are milliseconds, and no test measures one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use diesel_async::SimpleAsyncConnection;
use testkit::{TestDatabase, eventually};

use super::*;

const SHORT: Duration = Duration::from_millis(10);
const LONG: Duration = Duration::from_hours(1);
const SHORT_TIMES: Times = Times { pause: SHORT, retry: SHORT, look: SHORT, lease: LONG };

/// Counts the passes of a job.
#[derive(Clone, Default)]
struct Passes(Arc<AtomicUsize>);

impl Passes {
    fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    async fn reached(&self, number: usize) {
        eventually("passes", async || (self.0.load(Ordering::SeqCst) >= number).then_some(())).await;
    }
}

fn job<F, Work>(times: Times, pass: F) -> HousekeepingJob
where
    F: Fn(Database, CancellationToken) -> Work + Send + Sync + 'static,
    Work: Future<Output = database::Result<i64>> + Send + 'static,
{
    HousekeepingJob { times, ..HousekeepingJob::every("test", LONG, pass) }
}

async fn status(database: &Database) -> Option<JobStatus> {
    job_status(&database.connection().await.unwrap()).await.unwrap().pop()
}

async fn change(database: &TestDatabase, statement: &str) {
    database.owner().await.batch_execute(statement).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_instance_at_a_time_takes_a_job_that_is_due() {
    let database = TestDatabase::plain().await;
    let lease = |holder: &'static str| JobLease { database: &database, name: "test", holder };
    let (first, second) = (lease("first"), lease("second"));
    assert!(first.take(LONG).await.unwrap(), "a new job is due");
    assert!(!second.take(LONG).await.unwrap(), "the other instance holds it");
    assert!(first.renew(LONG).await.unwrap());

    first.end(Ok(()), LONG).await.unwrap();
    assert!(!second.take(LONG).await.unwrap(), "it is not due");
    change(&database, "UPDATE job_lease SET due_at = clock_timestamp()").await;
    assert!(second.take(LONG).await.unwrap());

    // The second instance dies, and its lease ends.
    change(&database, "UPDATE job_lease SET lease_until = clock_timestamp()").await;
    assert!(first.take(LONG).await.unwrap());
    assert!(!second.renew(LONG).await.unwrap(), "it has been replaced");
    second.end(Ok(()), LONG).await.unwrap();
    assert!(!second.take(LONG).await.unwrap(), "the end of a replaced holder changes nothing");
    first.give_up().await.unwrap();
    assert!(second.take(LONG).await.unwrap(), "a pass that was given up stays due");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_again_after_its_pause_and_shows_its_last_success() {
    let database = TestDatabase::plain().await;
    let (passes, stop) = (Passes::default(), CancellationToken::new());
    let counted = passes.clone();
    let job = job(SHORT_TIMES, move |_, _| {
        counted.add();
        async { Ok(0) }
    });
    let watched = async {
        passes.reached(1).await;
        let first =
            eventually("a success", async || status(&database).await.and_then(|job| job.last_succeeded_at))
                .await;
        passes.reached(3).await;
        eventually("a later success", async || {
            status(&database).await?.last_succeeded_at.filter(|last| *last > first)
        })
        .await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(job.run(database.clone(), stop.clone()), watched);
    assert_eq!(ended, Ok(()));
    let JobStatus { name, last_error, .. } = status(&database).await.unwrap();
    assert_eq!((name.as_str(), last_error), ("test", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_failed_pass_is_shown_until_one_succeeds() {
    let database = TestDatabase::plain().await;
    let (passes, stop, may_succeed) = (Passes::default(), CancellationToken::new(), CancellationToken::new());
    let (counted, gate) = (passes.clone(), may_succeed.clone());
    let job = job(SHORT_TIMES, move |_, _| {
        counted.add();
        let fails = !gate.is_cancelled();
        async move { if fails { Err(database::Error::Unavailable("no luck".to_owned())) } else { Ok(7) } }
    });
    let watched = async {
        passes.reached(2).await;
        let failed =
            eventually("an error", async || status(&database).await.filter(|job| job.last_error.is_some()))
                .await;
        assert!(failed.last_error.unwrap().contains("no luck"));
        assert_eq!(failed.last_succeeded_at, None);
        may_succeed.cancel();
        eventually("a success", async || {
            status(&database).await.filter(|job| job.last_succeeded_at.is_some())
        })
        .await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(job.run(database.clone(), stop.clone()), watched);
    assert_eq!((ended, status(&database).await.unwrap().last_error), (Ok(()), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_that_is_stopped_is_no_success_and_stays_due() {
    let database = TestDatabase::plain().await;
    let (passes, stop) = (Passes::default(), CancellationToken::new());
    let counted = passes.clone();
    let job = job(SHORT_TIMES, move |_, stop| {
        counted.add();
        async move {
            stop.cancelled().await;
            Ok(1)
        }
    });
    let stopped = async {
        passes.reached(1).await;
        stop.cancel();
    };
    let (ended, ()) = tokio::join!(job.run(database.clone(), stop.clone()), stopped);
    assert_eq!((ended, status(&database).await.unwrap().last_succeeded_at), (Ok(()), None));
    let successor = JobLease { database: &database, name: "test", holder: "successor" };
    assert!(successor.take(LONG).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_whose_lease_was_taken_is_stopped() {
    let database = TestDatabase::plain().await;
    let (begun, ended, stop) = (Passes::default(), Passes::default(), CancellationToken::new());
    let (first, last) = (begun.clone(), ended.clone());
    let times = Times { lease: Duration::from_millis(300), look: LONG, ..SHORT_TIMES };
    let job = job(times, move |_, stop| {
        first.add();
        let last = last.clone();
        async move {
            stop.cancelled().await;
            last.add();
            Ok(1)
        }
    });
    let taken = async {
        begun.reached(1).await;
        change(&database, "UPDATE job_lease SET holder = 'another', lease_until = 'infinity'").await;
        ended.reached(1).await;
        stop.cancel();
    };
    let (result, ()) = tokio::join!(job.run(database.clone(), stop.clone()), taken);
    let found = status(&database).await.unwrap();
    assert_eq!((result, found.last_succeeded_at), (Ok(()), None), "the pass of the other holder goes on");
}
