//! A sender that was restored to an earlier time numbers its messages from there again. Such a message is neither dropped nor held
//! for ever, whether the other one was applied or is held.

use contracts::OrderId;
use database::Database;
use envelope::header;
use serde_json::Value;
use testkit::{TestDatabase, TestTopics};
use uuid::Uuid;

use crate::common::{
    Fix, Operator, TestRecord, audited, cancelled, confirmed, database, effects, facts, parked, publish,
    record, recording, rewind, run, wait_until_done,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_history_is_parked_and_not_dropped() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let first = [1, 2, 3].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &first).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    let applied = effects(&database).await;
    assert_eq!(applied.len(), 3);

    // The restored sender sends its surviving events again, and then its second history.
    let second = [record(&topics, 2, &cancelled(order)), record(&topics, 4, &confirmed(order))];
    publish(&topics, &[&first[..1], &second[..]].concat()).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    let waiting = parked(&database).await;
    assert_eq!(
        waiting.iter().map(|it| (it.sequence, it.state.as_str())).collect::<Vec<_>>(),
        [(2, "parked")]
    );
    let error = waiting[0].error.as_deref().unwrap();
    assert!(error.contains("the sender was restored to an earlier time"), "{error}");
    assert_eq!(effects(&database).await, [applied, vec![(order.uuid(), 4)]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_history_is_not_redriven_and_its_discard_is_final() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 2, 1].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    let id = parked(&database).await[0].message_id;
    let operator = Operator::new(&database, &topics, recording("operator"));
    let (done, report) = operator.does(&format!("redrive {id}")).await;
    assert!(!done && report.to_string().contains("another message has its number"), "{report}");
    assert!(operator.does(&format!("discard {id}")).await.0);
    rewind(&topics).await;
    let runner = run(&database, &topics, recording("another"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert!(parked(&database).await.is_empty());
    assert_eq!(effects(&database).await.len(), 2);
    audited(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_histories_in_one_batch_are_told_apart() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let records = [1, 2, 2].map(|sequence| record(&topics, sequence, &confirmed(order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, recording("one"));
    wait_until_done(&topics).await;
    runner.stop().await;
    assert_eq!(effects(&database).await, [1, 2].map(|sequence| (order.uuid(), sequence)));
    assert_eq!(parked(&database).await.len(), 1);
}

/// Publishes each group of records and waits until it is consumed. A group is one batch.
async fn consume(database: &Database, topics: &TestTopics, groups: &[&[TestRecord]]) {
    for group in groups {
        publish(topics, group).await;
        let runner = run(database, topics, recording("one"));
        wait_until_done(topics).await;
        runner.stop().await;
    }
}

fn id_of(record: &TestRecord) -> Uuid {
    let (_, id) = record.headers.iter().find(|(name, _)| name == header::ID).unwrap();
    std::str::from_utf8(id).unwrap().parse().unwrap()
}

/// Asserts that this message is the only one that waits, and that it is parked as one of another history than `first`.
async fn assert_parked(database: &Database, second: &TestRecord, first: &TestRecord) {
    let waiting = parked(database).await;
    let [row] = &waiting[..] else { panic!("{waiting:#?}") };
    assert_eq!((row.message_id, row.state.as_str()), (id_of(second), "parked"));
    let error = row.error.as_deref().unwrap();
    assert!(error.starts_with(&format!("message {} has the same number", id_of(first))), "{error}");
}

async fn assert_effects(database: &Database, order: OrderId, numbers: &[i64]) {
    let expected: Vec<_> = numbers.iter().map(|number| (order.uuid(), *number)).collect();
    assert_eq!(effects(database).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_under_the_number_of_a_held_one_is_parked_and_the_first_is_applied_in_its_turn() {
    let order = OrderId::generate();
    // Indices of these messages: the last two have the same number.
    let batches: [&[&[usize]]; 4] =
        [&[&[0, 2, 3], &[1]], &[&[0], &[2], &[3], &[1]], &[&[0], &[2], &[3, 1]], &[&[2], &[3], &[1], &[0]]];
    for batches in batches {
        let (database, topics) = (database().await, TestTopics::create().await);
        let records = [1, 2, 3, 3].map(|number| record(&topics, number, &confirmed(order)));
        for batch in batches {
            let batch: Vec<TestRecord> = batch.iter().map(|index| records[*index].clone()).collect();
            consume(&database, &topics, &[&batch]).await;
        }
        assert_effects(&database, order, &[1, 2, 3]).await;
        assert_parked(&database, &records[3], &records[2]).await;
        rewind(&topics).await;
        consume(&database, &topics, &[&[]]).await;
        assert_parked(&database, &records[3], &records[2]).await;
        audited(&database).await;
    }
}

/// The first message of the order is missing. Two messages have the number 2: the first one is held, the second one is parked.
async fn two_seconds(topics: &TestTopics, database: &Database) -> (OrderId, [TestRecord; 3]) {
    let order = OrderId::generate();
    let records = [1, 2, 2].map(|number| record(topics, number, &confirmed(order)));
    consume(database, topics, &[&records[1..2], &records[2..]]).await;
    (order, records)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_another_history_is_discarded_while_the_first_one_is_held() {
    let (database, topics) = (database().await, TestTopics::create().await);
    let (order, [one, two, other]) = two_seconds(&topics, &database).await;
    let operator = Operator::new(&database, &topics, recording("operator"));
    for what in [id_of(&other), id_of(&two)] {
        let (done, report) = operator.does(&format!("redrive {what}")).await;
        assert!(!done, "{report:#}");
        assert_left(&report, &other);
    }
    assert_eq!(facts(&database).await.len(), 0);
    let (_, shown) = operator.asks(&format!("show {}", id_of(&other))).await;
    assert!(shown["error"].as_str().unwrap().contains("has the same number"), "{shown:#}");
    let (done, report) = operator.does(&format!("discard {}", id_of(&two))).await;
    assert!(!done && report["refused"].as_str().unwrap().contains("number 1"), "{report:#}");
    let (done, report) = operator.does(&format!("discard {}", id_of(&other))).await;
    assert!(done, "{report:#}");
    consume(&database, &topics, &[&[one]]).await;
    assert_effects(&database, order, &[1, 2]).await;
    assert!(parked(&database).await.is_empty());
    audited(&database).await;
}

/// The first message of an order is parked. Of two messages with the number 2, the first one is held and the second one parked.
async fn behind_a_parked_one() -> (TestDatabase, TestTopics, OrderId, [TestRecord; 3], Fix) {
    let (database, topics, fix) = (database().await, TestTopics::create().await, Fix::default());
    let order = OrderId::generate();
    let records = [1, 2, 2].map(|number| record(&topics, number, &confirmed(order)));
    publish(&topics, &records).await;
    let runner = run(&database, &topics, fix.consumer());
    wait_until_done(&topics).await;
    runner.stop().await;
    fix.come();
    (database, topics, order, records, fix)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_leaves_the_second_of_two_messages_with_one_number_and_names_it() {
    let (database, topics, order, [_, two, other], fix) = behind_a_parked_one().await;
    let operator = Operator::new(&database, &topics, fix.consumer());
    let (done, report) = operator.does("redrive --all").await;
    assert!(!done, "{report:#}");
    assert_left(&report, &other);
    assert_effects(&database, order, &[1, 2]).await;
    assert_parked(&database, &other, &two).await;
    let (done, report) = operator.does("redrive --all").await;
    assert!(!done, "{report:#}");
    assert_left(&report, &other);
    assert!(operator.does(&format!("discard {}", id_of(&other))).await.0);
    assert!(parked(&database).await.is_empty());
    audited(&database).await;
}

/// Asserts that the redrive has removed no message, and has left this one.
fn assert_left(report: &Value, other: &TestRecord) {
    let redriven = &report["aggregates"][0];
    assert_eq!(redriven["superseded"].as_array().map(Vec::len), Some(0), "{report:#}");
    assert_eq!(redriven["left"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert_eq!(redriven["left"][0]["message"]["message_id"], id_of(other).to_string(), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discard_applies_the_first_of_two_messages_with_one_number_and_leaves_the_second() {
    let (database, topics, order, [one, two, other], fix) = behind_a_parked_one().await;
    let operator = Operator::new(&database, &topics, fix.consumer());
    let (done, report) = operator.does(&format!("discard {}", id_of(&one))).await;
    assert!(done, "{report:#}");
    assert_eq!(report["applied"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert_effects(&database, order, &[2]).await;
    assert_parked(&database, &other, &two).await;
    audited(&database).await;
}
