//! `republish`: the same messages in the same order, those that were selected, and one audit fact.

use std::collections::BTreeMap;

use clap::Parser;
use contracts::{OrderId, streams};
use database::Database;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use envelope::header;
use messaging::ReceivedMessage;
use serde_json::json;
use testkit::{TestDatabase, TestTopics, eventually};

use crate::common::{
    CommandLine, append_one, confirmed, context, count, json_output, progress, relay, settings, text,
    text_output, wait_for,
};

pub(crate) const ALL: &[&str] =
    &["republish", "--since", "2000-01-01T00:00:00Z", "--by", "ada", "--reason", "a topic was lost"];

fn but(words: &[&'static str], more: &[&'static str]) -> Vec<&'static str> {
    [words, more].concat()
}

async fn facts(database: &Database) -> i64 {
    count(database, "SELECT count(*) AS count FROM audit_fact").await
}

/// Key, payload and headers: everything but partition and offset.
type Content = (Option<Vec<u8>>, Option<Vec<u8>>, Vec<(String, Vec<u8>)>);

fn content(message: &ReceivedMessage) -> Content {
    (message.key.clone(), message.payload.clone(), message.headers.clone())
}

/// Runs a relay until the topic has this number of messages.
pub(crate) async fn published(database: &TestDatabase, topics: &TestTopics, messages: usize) {
    let relay = relay(database, topics, settings());
    wait_for(topics, streams::ORDERS, messages).await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_republished_event_has_the_same_key_headers_and_bytes_in_the_same_order() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let orders: Vec<OrderId> = std::iter::repeat_with(OrderId::generate).take(12).collect();
    for sequence in 1..=10 {
        for order in &orders {
            append_one(&database, sequence, &confirmed(*order)).await;
        }
    }
    published(&database, &topics, 120).await;
    let before = topics.messages(streams::ORDERS).await;

    let report = json_output(&context(&database, &topics), ALL).await;
    assert_eq!((&report["messages"], &report["dry_run"]), (&json!(120), &json!(false)));
    assert_eq!((&report["first_id"], &report["last_id"]), (&json!(1), &json!(120)));
    published(&database, &topics, 240).await;
    let mut after: BTreeMap<i32, Vec<_>> = BTreeMap::new();
    for message in topics.messages(streams::ORDERS).await {
        after.entry(message.partition).or_default().push(content(&message));
    }
    assert!(after.len() > 1, "all orders met in one partition: nothing was tried");
    for (partition, messages) in after {
        let first: Vec<_> = before.iter().filter(|m| m.partition == partition).map(content).collect();
        assert!(messages == [first.clone(), first].concat(), "partition {partition} differs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_publishes_leaves_one_fact_and_a_dry_run_leaves_nothing() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let order = OrderId::generate();
    assert_eq!(json_output(&context, ALL).await["messages"], 0);
    for sequence in 1..=3 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    published(&database, &topics, 3).await;
    assert_eq!(facts(&database).await, 0, "nothing was published again yet");

    assert_eq!(json_output(&context, &but(ALL, &["--dry-run"])).await["messages"], 3);
    let text = text_output(&context, &but(ALL, &["--dry-run"])).await;
    assert!(
        text.starts_with("dry run: nothing is changed")
            && text.contains("messages 3 first_id 1 first_sequence 1 last_id 3"),
        "{text}"
    );
    assert_eq!((facts(&database).await, topics.count(streams::ORDERS).await), (0, 3));

    for (runs, messages) in [(1, 6), (2, 9)] {
        assert_eq!(json_output(&context, ALL).await["messages"], 3);
        published(&database, &topics, messages).await;
        assert_eq!((facts(&database).await, topics.count(streams::ORDERS).await), (runs, messages));
    }
    let expected = "SELECT count(*) AS count FROM audit_fact WHERE action = 'outbox.republish' \
         AND tenant_id = '@system' AND actor = '@operator:ada' AND subject_type = 'outbox' \
         AND subject_id = '2000-01-01T00:00:00.000000Z' AND details ->> 'reason' = 'a topic was lost' \
         AND details -> 'messages' = '3' AND details -> 'first_id' = '1' AND details -> 'last_id' = '3'";
    assert_eq!(count(&database, expected).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aggregate_is_published_again_alone() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let [one, other] = [OrderId::generate(), OrderId::generate()];
    for sequence in 1..=3 {
        append_one(&database, sequence, &confirmed(one)).await;
        append_one(&database, sequence, &confirmed(other)).await;
    }
    published(&database, &topics, 6).await;
    let id = one.to_string();
    let words = ["republish", "--aggregate", &id, "--by", "ada", "--reason", "asked to"];
    assert_eq!(json_output(&context(&database, &topics), &words).await["messages"], 3);
    published(&database, &topics, 9).await;
    let messages = topics.messages(streams::ORDERS).await;
    let of = |order: OrderId| {
        messages
            .iter()
            .filter(move |m| text(m, header::SUBJECT) == order.to_string())
            .map(|m| text(m, header::SEQUENCE))
    };
    assert_eq!(of(one).collect::<String>(), "123123");
    assert_eq!(of(other).collect::<String>(), "123");
    let of_its_tenant = "SELECT count(*) AS count FROM audit_fact WHERE tenant_id = 'acme'";
    assert_eq!(count(&database, of_its_tenant).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_from_when_the_outbox_has_rows() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    for sequence in 1..=2 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    published(&database, &topics, 2).await;
    let mut owner = database.owner().await;
    owner.batch_execute("DELETE FROM outbox_event WHERE id = 1").await.unwrap(); // as retention does with days
    let context = context(&database, &topics);
    let report = json_output(&context, &but(ALL, &["--dry-run"])).await;
    let written = "SELECT count(*) AS count FROM outbox_event WHERE id = 2 AND created_at = ";
    let since = report["rows_since"].as_str().unwrap();
    assert_eq!(count(&database, &format!("{written}'{since}'")).await, 1, "{report}");
    let text = text_output(&context, &but(ALL, &["--dry-run"])).await;
    assert!(text.contains("first_id 2 first_sequence 2"), "{text}");
    assert!(text.contains(&format!("rows_since {since}")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_before_the_given_time_are_not_published_again() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    for sequence in 1..=4 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    published(&database, &topics, 4).await;
    let mut owner = database.owner().await;
    let age =
        "UPDATE outbox_event SET created_at = '2026-01-01T00:00:00Z'::timestamptz + id * interval '1 day'";
    owner.batch_execute(age).await.unwrap();
    let mut words = ALL.to_vec();
    words[2] = "2026-01-04T01:00:00+01:00"; // the third row's moment, in another zone
    let report = json_output(&context(&database, &topics), &words).await;
    assert_eq!((&report["messages"], &report["first_id"]), (&json!(2), &json!(3)));
    published(&database, &topics, 6).await;
    let messages = topics.messages(streams::ORDERS).await;
    let sequences: String = messages.iter().map(|m| text(m, header::SEQUENCE)).collect();
    assert_eq!(sequences, "123434");
}

/// The relay reads several pages of it, and a day of the log was dropped.

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_is_published_again_in_order_and_ids_without_a_row_leave_the_gaps() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let (order, rows) = (OrderId::generate(), 12_000);
    let mut owner = database.owner().await;
    diesel::sql_query(
        "INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, \
         source, tenant_id, payload) \
         SELECT gen_random_uuid(), 'orders.events', $1, 'order', $1, n, 'orders.OrderConfirmed.v1', 'orders', 'acme', '' \
         FROM generate_series(1, $2) AS n",
    )
    .bind::<diesel::sql_types::Uuid, _>(order.uuid())
    .bind::<diesel::sql_types::BigInt, _>(rows)
    .execute(&mut owner)
    .await
    .unwrap();
    owner.batch_execute("DELETE FROM outbox_event WHERE id BETWEEN 5001 AND 7000").await.unwrap();
    // The cursor as if a relay had published all of them.
    let passed = "UPDATE outbox_cursor SET position = (SELECT max(id) FROM outbox_event)";
    owner.batch_execute(passed).await.unwrap();
    assert_eq!(json_output(&context(&database, &topics), ALL).await["messages"], rows - 2_000);
    assert_eq!(progress(&database).await.gaps, "{[1,12001)}");
    let relay = relay(&database, &topics, settings());
    eventually("a cursor without gaps", async || (progress(&database).await.gaps == "{}").then_some(()))
        .await;
    relay.stop().await;
    let messages = topics.messages(streams::ORDERS).await;
    let sequences: Vec<i64> = messages.iter().map(|m| text(m, header::SEQUENCE).parse().unwrap()).collect();
    assert_eq!(sequences.len(), 10_000, "none twice");
    assert!(sequences.iter().copied().eq((1..=5_000).chain(7_001..=rows)), "out of order");
}

#[test]
fn a_republish_needs_its_range_operator_and_reason() {
    let order = OrderId::generate().to_string();
    let refused = |words: &[&str]| {
        let words = ["outbox", "republish"].iter().chain(words);
        CommandLine::try_parse_from(words).unwrap_err().exit_code()
    };
    let both = ["--since", "2026-11-20T08:00:00Z", "--aggregate", &order, "--by", "ada", "--reason", "x"];
    assert_eq!(refused(&both), 2);
    assert_eq!(refused(&both[4..]), 2, "nothing is wanted");
    assert_eq!(refused(&both[2..6]), 2, "no reason");
    assert_eq!(refused(&[&both[2..4], &both[6..]].concat()), 2, "no operator");
    assert_eq!(refused(&[&["--since", "yesterday"], &both[4..]].concat()), 2);
    assert!(CommandLine::try_parse_from([&["outbox", "republish"], &both[2..]].concat()).is_ok());
}
