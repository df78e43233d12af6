//! Discard: the aggregate continues without the parked message, and the operator gets a warning.

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderConfirmed};
use database::{Database, Tx};
use envelope::{Message, header};
use inbox::{Consumer, DiscardedMessage, HandlerError, no_locks};
use serde_json::{Value, json};
use testkit::{TestDatabase, TestTopics};
use uuid::Uuid;

use crate::common::{
    CONSUMER, Operator, TestRecord, audited, cancelled, confirmed, count, database, effects, facts, parked,
    publish, record, record_effect, recording, run, wait_until_done,
};

/// Confirmed orders take effect, and cancelled ones are always refused. Each discard has a warning.
fn picky() -> Consumer {
    Consumer::of(CONSUMER)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderConfirmed>| record_effect(tx, "one", m).await)
        .on(no_locks, async |tx: &mut Tx, m: &Message<OrderCancelled>| {
            record_effect(tx, "one", m).await?;
            Err(HandlerError::Refused("not with me".to_owned()))
        })
        .warning(async |tx: &mut Tx, discarded: &DiscardedMessage| {
            let (id, kind) = (discarded.aggregate, discarded.is::<OrderCancelled>());
            let done = crate::common::effects_of(tx, id).await;
            Ok(vec![format!("{id} stays open, cancelled: {kind}, effects: {done}")])
        })
}

async fn consume(database: &Database, topics: &TestTopics, records: &[TestRecord]) {
    let runner = run(database, topics, picky());
    publish(topics, records).await;
    wait_until_done(topics).await;
    runner.stop().await;
}

/// An order whose second message is parked. Two more are held.
async fn stuck(
    third: impl FnOnce(&TestTopics, OrderId) -> TestRecord,
) -> (TestDatabase, TestTopics, OrderId) {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [
        record(&topics, 1, &confirmed(order)),
        record(&topics, 2, &cancelled(order)),
        third(&topics, order),
        record(&topics, 4, &confirmed(order)),
    ];
    consume(&database, &topics, &records).await;
    assert_eq!(effects(&database).await, [(order.uuid(), 1)]);
    (database, topics, order)
}

async fn id_of(database: &Database, sequence: i64) -> Uuid {
    parked(database).await.into_iter().find(|row| row.sequence == sequence).unwrap().message_id
}

fn numbers(steps: &Value) -> Vec<i64> {
    steps.as_array().unwrap().iter().map(|step| step["sequence"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_applies_the_held_messages_of_the_aggregate() {
    let (database, topics, order) = stuck(|topics, order| record(topics, 3, &confirmed(order))).await;
    let id = id_of(&database, 2).await;
    let operator = Operator::new(&database, &topics, picky());
    let (done, report) = operator.does(&format!("discard {id}")).await;
    assert!(done && report["discarded"] == true, "{report:#}");
    assert_eq!(numbers(&report["applied"]), [3, 4]);
    assert!(parked(&database).await.is_empty());
    consume(&database, &topics, &[record(&topics, 5, &confirmed(order))]).await;
    assert_eq!(effects(&database).await, [1, 3, 4, 5].map(|sequence| (order.uuid(), sequence)));
    audited(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_leaves_one_fact_with_the_payloads_hash_and_its_repetition_none() {
    let (database, topics, _) = stuck(|topics, order| record(topics, 3, &confirmed(order))).await;
    let id = id_of(&database, 2).await;
    let operator = Operator::new(&database, &topics, picky());
    let (_, shown) = operator.asks(&format!("show {id}")).await;
    for _ in 0..2 {
        let (done, _) = operator.does(&format!("discard {id}")).await;
        assert!(done);
    }
    let text = operator.types(&format!("discard {id} --by kim --reason again")).await.text;
    assert!(text.contains("nothing to discard"), "{text}");
    let facts = facts(&database).await;
    let [fact] = &facts[..] else { panic!("{facts:#?}") };
    assert_eq!((fact.actor.as_str(), fact.action.as_str()), ("@operator:kim", "inbox.discard"));
    assert_eq!((fact.tenant_id.as_str(), &fact.subject_id), ("acme", &id.to_string()));
    let details = &fact.details;
    assert_eq!((&details["reason"], &details["error"]), (&json!("fixed"), &json!("not with me")));
    assert_eq!(details["payload_sha256"], shown["payload_sha256"]);
    assert_eq!(details["payload_sha256"].as_str().map(str::len), Some(64));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_fails_behind_a_discarded_one_is_parked() {
    let (database, topics, order) = stuck(|topics, order| record(topics, 3, &cancelled(order))).await;
    let operator = Operator::new(&database, &topics, picky());
    let (done, report) = operator.does(&format!("discard {}", id_of(&database, 2).await)).await;
    assert!(done, "{report:#}");
    assert_eq!(
        (&report["parked"]["message"]["sequence"], &report["parked"]["error"]),
        (&json!(3), &json!("not with me"))
    );
    assert_eq!(effects(&database).await, [(order.uuid(), 1)], "what it had done is undone");
    let states: Vec<_> = parked(&database).await.into_iter().map(|row| (row.sequence, row.state)).collect();
    assert_eq!(states, [(3, "parked".to_owned()), (4, "held".to_owned())]);
    let copies = "SELECT count(*) AS count FROM outbox_event WHERE topic = 'inventory.dlq'";
    assert_eq!(count(&database, copies).await, 2);

    let text =
        operator.types(&format!("discard {} --by kim --reason x", id_of(&database, 3).await)).await.text;
    assert!(
        text.contains(" is discarded\n") && text.contains("\napplied\n") && text.contains("  4  "),
        "{text}"
    );
    assert_eq!(effects(&database).await, [1, 4].map(|sequence| (order.uuid(), sequence)));
    audited(&database).await;
}

/// The warning describes the state after the held messages are applied.
#[tokio::test(flavor = "multi_thread")]
async fn a_discard_warns_of_open_effects_and_a_dry_run_changes_nothing() {
    let (database, topics, order) = stuck(|topics, order| record(topics, 3, &confirmed(order))).await;
    let id = id_of(&database, 2).await;
    let operator = Operator::new(&database, &topics, picky());
    let warning = format!("{order} stays open, cancelled: true, effects: 3");
    let before = format!("{:?}", parked(&database).await);
    let (done, report) = operator.does(&format!("discard {id} --dry-run")).await;
    assert!(done, "{report:#}");
    assert_eq!((&report["warnings"], &report["dry_run"]), (&json!([warning]), &json!(true)));
    assert_eq!(numbers(&report["applied"]), [3, 4]);
    assert_eq!(format!("{:?}", parked(&database).await), before);
    assert_eq!((effects(&database).await.len(), facts(&database).await.len()), (1, 0));

    let text = operator.types(&format!("discard {id} --by kim --reason x")).await.text;
    assert!(text.contains(&format!("warnings  {warning}\n")), "{text}");
    assert_eq!(facts(&database).await[0].details["warnings"], json!([warning]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_only_held_is_not_discarded() {
    let (database, topics, _) = stuck(|topics, order| record(topics, 3, &confirmed(order))).await;
    let operator = Operator::new(&database, &topics, picky());
    let (done, report) = operator.does(&format!("discard {}", id_of(&database, 3).await)).await;
    assert!(!done && report["discarded"] == false, "{report:#}");
    assert!(report["refused"].as_str().unwrap().contains("number 2"), "{report:#}");
    assert_eq!((parked(&database).await.len(), facts(&database).await.len()), (3, 0));
}

/// The header has no sequence. The message must be number 2, because the aggregate misses it.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_sequence_is_discarded_under_the_missing_one() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [
        record(&topics, 1, &confirmed(order)),
        record(&topics, 2, &confirmed(order)).without(header::SEQUENCE),
        record(&topics, 3, &confirmed(order)),
    ];
    consume(&database, &topics, &records).await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let id = id_of(&database, 0).await;
    assert!(!operator.does("redrive --all").await.0, "its sequence is unknown");
    let (_, report) = operator.does(&format!("discard {id} --dry-run")).await;
    assert!(report["warnings"][0].as_str().unwrap().contains("--sequence 2"), "{report:#}");
    assert!(!operator.does(&format!("discard {id} --sequence 3")).await.0);
    let (done, report) = operator.does(&format!("discard {id} --sequence 2")).await;
    assert!(done, "{report:#}");
    assert_eq!(effects(&database).await, [1, 3].map(|sequence| (order.uuid(), sequence)));
    assert!(parked(&database).await.is_empty());
    audited(&database).await;
}
