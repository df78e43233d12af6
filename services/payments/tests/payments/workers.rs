//! Several workers on the same calls, and workers that die.

use std::collections::BTreeMap;
use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use payments::WorkerSettings;
use serde_json::json;
use testkit::eventually;

use crate::processor::{Fate, held};
use crate::stage::{AMOUNT, Stage, VISA, brisk};

#[tokio::test]
async fn two_workers_make_each_call_once() {
    const ORDERS: usize = 30;
    let stage = Stage::new().await;
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        orders.push(stage.request(VISA).await);
    }
    let workers = [stage.worker(brisk()), stage.second_worker()];
    for order in &orders {
        stage.becomes(*order, "captured").await;
    }
    stage.is_at_rest().await;
    for worker in workers {
        worker.stop().await;
    }
    let mut requests = BTreeMap::<String, usize>::new();
    for received in stage.processor.received() {
        *requests.entry(received.key().to_owned()).or_default() += 1;
    }
    assert_eq!(requests.len(), ORDERS);
    assert!(requests.values().all(|number| *number == 1), "{requests:?}");
    assert_eq!(stage.processor.charges(), [AMOUNT; ORDERS]);
    for order in orders {
        assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
    }
}

#[tokio::test]
async fn results_that_come_back_while_another_is_recorded_share_a_transaction() {
    const ORDERS: usize = 12;
    let stage = Stage::new().await;
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        orders.push(stage.request(VISA).await);
    }
    let mut owner = stage.database.owner().await;
    // The first result waits for this lock when it announces the capture.
    owner.batch_execute("BEGIN; LOCK TABLE outbox_event IN EXCLUSIVE MODE").await.unwrap();
    let worker = stage.worker(WorkerSettings { concurrency: ORDERS, ..brisk() });
    eventually("every request is sent", async || (stage.processor.received().len() == ORDERS).then_some(()))
        .await;
    owner.batch_execute("COMMIT").await.unwrap();
    for order in &orders {
        stage.becomes(*order, "captured").await;
    }
    worker.stop().await;
    let transactions = stage.count("SELECT count(DISTINCT xid) AS count FROM outbox_event").await;
    assert!((1..=6).contains(&transactions), "{transactions} transactions for {ORDERS} results");
}

/// A worker whose call takes longer than its lease.
fn slow() -> WorkerSettings {
    WorkerSettings { concurrency: 1, lease: Duration::from_millis(50), ..brisk() }
}

#[tokio::test]
async fn a_replaced_worker_and_its_successor_use_one_key_and_announce_once() {
    let stage = Stage::new().await;
    stage.processor.order([held(), held()]);
    let order = stage.request(VISA).await;
    let replaced = stage.worker(slow());
    stage.processor.has_received(1).await;
    let successor = stage.second_worker();
    let received = stage.processor.has_received(2).await;
    assert_eq!((received[0].key(), &received[0].body), (received[1].key(), &received[1].body));
    assert_eq!(stage.state(order).await, "unknown");

    stage.processor.release();
    stage.becomes(order, "captured").await;
    replaced.stop().await;
    successor.stop().await;
    stage.is_at_rest().await;
    assert_eq!(stage.processor.charges(), [AMOUNT]);
    assert_eq!(stage.announced_types(order).await, ["PaymentCaptured"]);
}

#[tokio::test]
async fn a_refusal_that_a_replaced_worker_saw_leaves_its_successor_alone() {
    let stage = Stage::new().await;
    stage.processor.order([Fate::Held(Box::new(Fate::Refused(429, json!({})))), held()]);
    let order = stage.request(VISA).await;
    let replaced = stage.worker(slow());
    stage.processor.has_received(1).await;
    let successor = stage.second_worker();
    stage.processor.has_received(2).await;
    stage.processor.release_one();
    replaced.stop().await;
    assert_eq!(stage.state(order).await, "unknown");
    assert_eq!(stage.count("SELECT count(*) FROM processor_call WHERE in_flight AND attempt = 2").await, 1);

    stage.processor.release();
    stage.becomes(order, "captured").await;
    successor.stop().await;
    assert_eq!(stage.processor.received().len(), 2);
    assert_eq!(stage.processor.charges(), [AMOUNT]);
}

#[tokio::test]
async fn an_attempt_whose_worker_died_is_repeated_under_its_key() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    // The state after a worker died behind its first commit: the request may have been sent or not.
    stage.meddle("UPDATE payment SET state = 'capturing'").await;
    stage
        .meddle("UPDATE processor_call SET attempt = 1, in_flight = true, sent_since = due_at, due_at = clock_timestamp()")
        .await;
    stage.cancel(order).await;
    assert_eq!(stage.state(order).await, "capturing");
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.received()[0].key(), format!("idem-{}-capture", order.payment));
    assert_eq!((stage.processor.charges(), stage.processor.refunds()), (vec![AMOUNT], vec![AMOUNT]));
}

#[tokio::test]
async fn a_worker_that_stops_finishes_its_calls() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    let order = stage.request(VISA).await;
    let worker = stage.worker(brisk());
    stage.processor.has_received(1).await;
    tokio::join!(worker.stop(), async { stage.processor.release() });
    assert_eq!(stage.state(order).await, "captured");
}

#[tokio::test]
async fn no_more_calls_are_in_flight_than_the_setting_permits() {
    let stage = Stage::new().await;
    stage.processor.order((0..3).map(|_| held()));
    for _ in 0..5 {
        stage.request(VISA).await;
    }
    let worker = stage.worker(WorkerSettings { concurrency: 3, ..brisk() });
    stage.processor.has_received(3).await;
    assert_eq!(stage.count("SELECT count(*) FROM processor_call WHERE in_flight").await, 3);
    stage.processor.release();
    stage.is_at_rest().await;
    worker.stop().await;
    assert_eq!(stage.processor.charges(), [AMOUNT; 5]);
}

#[tokio::test]
async fn no_charge_waits_behind_a_lookup() {
    let stage = Stage::new().await;
    stage.processor.order([held()]);
    for _ in 0..2 {
        stage.request(VISA).await;
    }
    stage.meddle("UPDATE payment SET state = 'unknown'").await;
    stage.meddle("UPDATE processor_call SET attempt = 1, mode = 'look_up', sent_since = due_at").await;
    let worker = stage.worker(WorkerSettings { concurrency: 1, look_up_concurrency: 1, ..brisk() });
    stage.processor.has_been_looked_at(1).await;
    let order = stage.request(VISA).await;
    stage.becomes(order, "captured").await;
    assert_eq!(stage.processor.looked_up().len(), 1, "one lookup is held, and the other one waits");
    stage.processor.release();
    worker.stop().await;
}

#[tokio::test]
async fn the_cost_of_a_round_does_not_depend_on_the_number_of_waiting_calls() {
    let stage = Stage::new().await;
    for mode in ["request", "look_up"] {
        stage
            .meddle(&format!(
                "WITH made AS (
                     INSERT INTO payment (id, tenant_id, amount, currency, payment_method, expires_at)
                     SELECT gen_random_uuid(), 'acme', 1, 'EUR', 'pm_x', now() FROM generate_series(1, 10000) RETURNING id)
                 INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request, mode, due_at)
                 SELECT id, 'acme', 'charge', id, id, '', '{mode}', now() + interval '1 hour' FROM made"
            ))
            .await;
    }
    let order = stage.request(VISA).await;
    let worker = stage.second_worker();
    stage.becomes(order, "captured").await;
    worker.stop().await; // the end of a session reports its counters
    let read = eventually("the counters of the worker's sessions", async || {
        let rows = "SELECT (SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'processor_call_due') \
                         + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'processor_call') AS count";
        Some(stage.count(rows).await).filter(|read| *read > 0)
    })
    .await;
    assert!(read < 100, "{read} entries were read");
}

#[tokio::test]
async fn a_call_that_no_worker_can_take_does_not_block_the_others() {
    let stage = Stage::new().await;
    stage.request(VISA).await;
    // A currency that this version cannot read.
    stage.meddle("UPDATE payment SET currency = 'XXX'").await;
    let order = stage.request(VISA).await;
    let worker = stage.worker(WorkerSettings { concurrency: 1, ..brisk() });
    stage.becomes(order, "captured").await;
    worker.stop().await;
    assert_eq!(stage.processor.received().len(), 1);
    assert_eq!(
        stage.count("SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL AND attempt = 0").await,
        1
    );
}
