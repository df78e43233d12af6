//! The round trips of the worker.

use std::time::Duration;

use database::{Database, Settings};
use payments::{WorkerSettings, consumers};
use testkit::RoundTrips;
use tokio::runtime::Handle;

use crate::stage::{LATER, Order, Stage, VISA, brisk, policy, requested, worker};

/// BEGIN with the locks of the due calls and of their payments; the write, with COMMIT.
const OF_A_TAKE: usize = 2;
/// BEGIN with the locks of the calls and of their payments; the write, with COMMIT.
const OF_A_RECORD: usize = 2;

/// Requests a payment, and waits for the only connection again.
async fn request(distant: &Database) -> Order {
    let order = Order::new();
    let mut tx = distant.begin().await.unwrap();
    consumers::charge(&mut tx, &policy(), &requested(order, VISA, LATER)).await.unwrap();
    tx.commit().await.unwrap();
    order
}

/// Returns once no other transaction has the only connection.
async fn until_free(distant: &Database) {
    distant.begin().await.unwrap().rollback().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_takes_two_round_trips_before_its_request_and_two_after_it() {
    let stage = Stage::new().await;
    let counter = RoundTrips::to_postgres().await;
    let settings =
        Settings { pool_size: 1, ..Settings::new(stage.database.service_url(Some(counter.address()))) };
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let (mut requests, mut payments) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        let ((), round_trips) = counter
            .of(async {
                request(&distant).await;
                until_free(&distant).await;
            })
            .await;
        requests.push(round_trips);
    }
    // Only a commit wakes this worker, so a look at the calls without one counts.
    let limits = WorkerSettings { poll: Duration::from_hours(1), ..brisk() };
    let worker = worker(distant.clone(), stage.processor.client(), limits);
    stage.is_at_rest().await;
    for _ in 0..6 {
        let ((), round_trips) = counter
            .of(async {
                let order = request(&distant).await;
                stage.becomes(order, "captured").await;
                until_free(&distant).await;
            })
            .await;
        payments.push(round_trips);
    }
    worker.stop().await;
    let least = |counts: &[usize]| counts.iter().copied().min().unwrap();
    assert_eq!(
        least(&payments) - least(&requests),
        OF_A_TAKE + OF_A_RECORD,
        "round trips of payments: {payments:?}, of their requests alone: {requests:?}"
    );
}
