//! Redrive: a parked message and the messages held behind it are applied in order, or none of them is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed, OrderPlaced};
use database::{Database, Tx};
use envelope::{Message, header};
use inbox::{Consumer, HandlerError, no_locks};
use serde_json::{Value, json};
use testkit::{TestDatabase, TestTopics};

use crate::common::{
    CONSUMER, Fix, Operator, audited, cancelled, confirmed, count, database, effects, facts, parked, publish,
    record, record_effect, recording, run, wait_until_done,
};

const WAITING: &str = "SELECT count(*) AS count FROM pg_stat_activity \
     WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// An order whose first message is parked. The others are held.
async fn stuck(sequences: std::ops::RangeInclusive<i64>) -> (TestDatabase, TestTopics, OrderId, Fix) {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, fix) = (OrderId::generate(), Fix::default());
    let records: Vec<_> = sequences.map(|sequence| record(&topics, sequence, &confirmed(order))).collect();
    publish(&topics, &records).await;
    let runner = run(&database, &topics, fix.consumer());
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, []);
    (database, topics, order, fix)
}

/// Returns the id of the only parked message.
async fn the_parked(database: &Database) -> String {
    let parked = parked(database).await;
    let [parked] = &parked.iter().filter(|row| row.state == "parked").collect::<Vec<_>>()[..] else {
        panic!("{parked:#?}")
    };
    parked.message_id.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_applies_a_parked_message_and_the_messages_held_behind_it_in_order() {
    let (database, topics, order, fix) = stuck(1..=4).await;
    let id = the_parked(&database).await;
    fix.come();
    let operator = Operator::new(&database, &topics, fix.consumer());
    let (done, report) = operator.does(&format!("redrive {id}")).await;
    assert!(done, "{report:#}");
    let numbers: Vec<i64> = report["aggregates"][0]["applied"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["sequence"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(effects(&database).await, [1, 2, 3, 4].map(|sequence| (order.uuid(), sequence)));
    assert!(parked(&database).await.is_empty());

    // Later messages of the aggregate are applied as usual.
    let runner = run(&database, &topics, fix.consumer());
    publish(&topics, &[record(&topics, 5, &confirmed(order))]).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await.len(), 5);
    audited(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_leaves_one_fact_with_who_and_why_and_its_repetition_none() {
    let (database, topics, order, fix) = stuck(1..=2).await;
    let id = the_parked(&database).await;
    fix.come();
    let operator = Operator::new(&database, &topics, fix.consumer());
    operator.does(&format!("redrive {id}")).await;
    let first = facts(&database).await;
    let [fact] = &first[..] else { panic!("{first:#?}") };
    assert_eq!((fact.actor.as_str(), fact.action.as_str()), ("@operator:kim", "inbox.redrive"));
    assert_eq!((fact.tenant_id.as_str(), &fact.subject_id), ("acme", &order.to_string()));
    assert_eq!((&fact.details["reason"], &fact.details["consumer"]), (&json!("fixed"), &json!(CONSUMER)));
    assert_eq!(fact.details["applied"][0]["message_id"], json!(id));

    for which in [id, format!("--aggregate {order}"), "--all".to_owned()] {
        let (done, report) = operator.does(&format!("redrive {which}")).await;
        assert_eq!((done, &report["aggregates"]), (true, &json!([])));
    }
    let text = operator.types("redrive --all --by kim --reason again").await.text;
    assert!(text.contains("nothing to redrive"), "{text}");
    assert_eq!((facts(&database).await.len(), effects(&database).await.len()), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_that_fails_changes_nothing_and_names_the_message() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let fix = Fix::default();
    let mut records: Vec<_> = [1, 2].map(|n| record(&topics, n, &confirmed(order))).into();
    records.push(record(&topics, 3, &cancelled(order)));
    publish(&topics, &records).await;
    let refusing = || {
        fix.consumer().on(no_locks, async |tx: &mut Tx, m: &Message<OrderCancelled>| {
            record_effect(tx, "one", m).await?;
            Err(HandlerError::Refused("too late".to_owned()))
        })
    };
    let runner = run(&database, &topics, refusing());
    wait_until_done(&topics).await;
    runner.stop().await;
    let before = format!("{:?}", parked(&database).await);
    fix.come();
    let operator = Operator::new(&database, &topics, refusing());
    let (done, report) = operator.does("redrive --all").await;
    let failed = &report["aggregates"][0]["failed"];
    assert!(!done, "{report:#}");
    assert_eq!((&failed["message"]["sequence"], &failed["error"]), (&json!(3), &json!("too late")));
    assert_eq!(effects(&database).await, []);
    assert_eq!(format!("{:?}", parked(&database).await), before);
    assert!(facts(&database).await.is_empty());
    let text = operator.types("redrive --all --by kim --reason x").await.text;
    assert!(text.contains("too late") && text.contains("  failed.error "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_aggregate_that_fails_does_not_stop_the_others() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (fine, hopeless, fix) = (OrderId::generate(), OrderId::generate(), Fix::default());
    publish(
        &topics,
        &[record(&topics, 1, &confirmed(fine)), record(&topics, 1, &confirmed(hopeless)).saying("not JSON")],
    )
    .await;
    let runner = run(&database, &topics, fix.consumer());
    wait_until_done(&topics).await;
    runner.stop().await;
    fix.come();
    let (done, report) = Operator::new(&database, &topics, fix.consumer()).does("redrive --all").await;
    assert!(!done, "{report:#}");
    assert_eq!(effects(&database).await, [(fine.uuid(), 1)]);
    assert_eq!(facts(&database).await.len(), 1);
    assert_eq!(parked(&database).await.len(), 1);
}

/// The program that parked the message knew neither its type nor its version.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_that_is_known_by_now_is_redriven() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let placed = record(&topics, 1, &crate::common::placed(order));
    publish(&topics, &[placed, record(&topics, 2, &confirmed(order))]).await;
    let runner = run(&database, &topics, recording("old"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let (done, _) = Operator::new(&database, &topics, recording("old")).does("redrive --all").await;
    assert!(!done, "the consumer has no handler for it yet");

    let new = recording("new")
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderPlaced>| record_effect(tx, "new", m).await);
    let (done, report) =
        Operator::new(&database, &topics, new).does(&format!("redrive --aggregate {order}")).await;
    assert!(done, "{report:#}");
    assert_eq!(effects(&database).await, [1, 2].map(|sequence| (order.uuid(), sequence)));
    assert_eq!(count(&database, "SELECT count(*) AS count FROM effect WHERE instance = 'new'").await, 2);
}

/// Two parked messages of one aggregate. The second one, which is unreadable, is redriven after the first one.
#[tokio::test(flavor = "multi_thread")]
async fn parked_messages_of_one_aggregate_are_redriven_in_turn() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, fix) = (OrderId::generate(), Fix::default());
    let records = [
        record(&topics, 1, &confirmed(order)),
        record(&topics, 2, &confirmed(order)).without(header::TENANT),
        record(&topics, 3, &confirmed(order)),
    ];
    publish(&topics, &records).await;
    let runner = run(&database, &topics, fix.consumer());
    wait_until_done(&topics).await;
    runner.stop().await;
    fix.come();
    let operator = Operator::new(&database, &topics, fix.consumer());
    let (done, report) = operator.does("redrive --all").await;
    assert!(!done, "{report:#}");
    let failed = &report["aggregates"][0]["failed"];
    assert_eq!(failed["message"]["sequence"], 2, "{report:#}");
    assert!(failed["error"].as_str().unwrap().contains("ce_tenant"), "{report:#}");
    assert_eq!(effects(&database).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_a_redrive_reports_its_effect_and_changes_nothing() {
    let (database, topics, _, fix) = stuck(1..=3).await;
    fix.come();
    let operator = Operator::new(&database, &topics, fix.consumer());
    let before = format!("{:?}", parked(&database).await);
    let (done, report) = operator.does("redrive --all --dry-run").await;
    assert!(done, "{report:#}");
    assert_eq!(report["aggregates"][0]["applied"].as_array().map(Vec::len), Some(3));
    assert_eq!(effects(&database).await, []);
    assert!(facts(&database).await.is_empty());
    assert_eq!(format!("{:?}", parked(&database).await), before);
    assert!(operator.does("redrive --all").await.0);
    assert_eq!(effects(&database).await.len(), 3);
}

/// Records the effect when another redrive of the aggregate waits for a lock or has come as far.
fn meeting(database: &Database) -> Consumer {
    let (database, arrived) = (database.clone(), Arc::new(AtomicI64::new(0)));
    Consumer::of(CONSUMER).on(no_locks, async move |tx: &mut Tx, m: &Message<OrderConfirmed>| {
        arrived.fetch_add(1, Ordering::SeqCst);
        let deadline = Instant::now() + Duration::from_secs(30);
        while arrived.load(Ordering::SeqCst) < 2 && count(&database, WAITING).await == 0 {
            assert!(Instant::now() < deadline, "the other redrive never came");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        record_effect(tx, "one", m).await
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn two_redrives_at_the_same_moment_apply_everything_once() {
    let (database, topics, order, _) = stuck(1..=1).await;
    let instances = [crate::common::slow_pool(&database), crate::common::slow_pool(&database)];
    let consumer = meeting(&database);
    let operators = instances.each_ref().map(|i| Operator::new(i, &topics, consumer.clone()));
    let (one, other) = tokio::join!(operators[0].does("redrive --all"), operators[1].does("redrive --all"));
    assert!(one.0 && other.0, "{one:#?} {other:#?}");
    assert_eq!(effects(&database).await, [(order.uuid(), 1)]);
    assert_eq!(facts(&database).await.len(), 1);
}

/// Meanwhile the consumer receives messages of the same aggregate.
#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_beside_a_running_consumer_keeps_the_order() {
    let (database, topics, order, fix) = stuck(1..=3).await;
    let runner = run(&database, &topics, fix.consumer());
    let stop = AtomicBool::new(false);
    let posting = async {
        let mut sequence = 4;
        while !stop.load(Ordering::SeqCst) || sequence < 40 {
            publish(&topics, &[record(&topics, sequence, &confirmed(order))]).await;
            sequence += 1;
        }
        sequence - 1
    };
    let operator = Operator::new(&database, &topics, fix.consumer());
    let redriving = async {
        fix.come();
        let output = operator.does("redrive --all").await;
        stop.store(true, Ordering::SeqCst);
        output
    };
    let (last, (done, report)): (i64, (bool, Value)) = tokio::join!(posting, redriving);
    assert!(done, "{report:#}");
    wait_until_done(&topics).await;
    runner.stop().await;
    let expected: Vec<_> = (1..=last).map(|sequence| (order.uuid(), sequence)).collect();
    assert_eq!(effects(&database).await, expected);
    assert!(parked(&database).await.is_empty());
    audited(&database).await;
}
