//! The relay after a `republish`: its term ends, rows in gaps come once, and blocked rows stay blocked.

use std::collections::BTreeMap;

use contracts::{OrderId, streams};
use diesel_async::SimpleAsyncConnection;
use envelope::header;
use testkit::{TestDatabase, TestTopics, eventually};

use crate::blocked::{RELEASE, set_tenant, wait_for_blocked};
use crate::common::{
    HalfDone, append_one, confirmed, context, count, first_occurrences, history, json_output, progress,
    relay, settings, short_lived, text, wait_for,
};
use crate::republish::{ALL, published};

/// The active relay has its gaps in memory, and writes them back several times a second.
#[tokio::test(flavor = "multi_thread")]
async fn the_active_relay_publishes_again_at_once_and_goes_on() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    let relay = relay(&database, &topics, short_lived());
    for sequence in 1..=3 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    wait_for(&topics, streams::ORDERS, 3).await;
    eventually("a cursor that has passed all rows", async || {
        let progress = progress(&database).await;
        (progress.position == 3 && progress.gaps == "{}").then_some(())
    })
    .await;
    assert_eq!(json_output(&context(&database, &topics), ALL).await["messages"], 3);
    wait_for(&topics, streams::ORDERS, 6).await;
    append_one(&database, 4, &confirmed(order)).await;
    wait_for(&topics, streams::ORDERS, 7).await;
    relay.stop().await;
    assert_eq!(progress(&database).await.gaps, "{}");
    let published = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(published, BTreeMap::from([(order.uuid(), history(4))]));
}

/// The lease has ended, no other relay has taken it, and the former holder does not know it yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_relay_whose_lease_has_just_ended_does_not_undo_a_republish() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    let relay = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(order)).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    eventually("a cursor that has passed the row", async || {
        let progress = progress(&database).await;
        (progress.position == 1 && progress.gaps == "{}").then_some(())
    })
    .await;
    let ended = "UPDATE outbox_lease SET lease_until = '-infinity'";
    database.owner().await.batch_execute(ended).await.unwrap();
    assert_eq!(json_output(&context(&database, &topics), ALL).await["messages"], 1);
    append_one(&database, 2, &confirmed(order)).await; // the relay would write its cursor without the gap
    eventually("the first event, twice", async || {
        let messages = topics.messages(streams::ORDERS).await;
        let first = messages.iter().filter(|m| text(m, header::SEQUENCE) == "1");
        (first.count() == 2).then_some(())
    })
    .await;
    relay.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_published_events_of_an_aggregate_with_a_blocked_one_wait_for_its_release() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let (bad, good) = (OrderId::generate(), OrderId::generate());
    for sequence in 1..=3 {
        append_one(&database, sequence, &confirmed(bad)).await;
    }
    append_one(&database, 1, &confirmed(good)).await;
    let mut owner = database.owner().await;
    owner.batch_execute("UPDATE outbox_event SET tenant_id = 'not a name' WHERE sequence = 3").await.unwrap();
    let first = relay(&database, &topics, settings());
    wait_for_blocked(&context, (1, 1)).await;
    wait_for(&topics, streams::ORDERS, 3).await;
    first.stop().await;
    assert_eq!(json_output(&context, ALL).await["messages"], 1);
    let second = relay(&database, &topics, settings());
    wait_for_blocked(&context, (3, 1)).await;
    wait_for(&topics, streams::ORDERS, 4).await;
    owner.batch_execute("UPDATE outbox_event SET tenant_id = 'acme'").await.unwrap();
    json_output(&context, &RELEASE).await;
    wait_for_blocked(&context, (0, 0)).await;
    wait_for(&topics, streams::ORDERS, 7).await;
    second.stop().await;
    let messages = topics.messages(streams::ORDERS).await;
    let of = |order: OrderId| {
        let own = messages.iter().filter(move |m| text(m, header::SUBJECT) == order.to_string());
        own.map(|m| text(m, header::SEQUENCE)).collect::<String>()
    };
    assert_eq!((of(bad), of(good)), ("12123".to_owned(), "11".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_was_never_published_is_not_counted_and_comes_after_those_that_are_republished() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let order = OrderId::generate();
    append_one(&database, 1, &confirmed(order)).await;
    published(&database, &topics, 1).await;
    for sequence in 2..=5 {
        append_one(&database, sequence, &confirmed(order)).await;
    }
    let report = json_output(&context(&database, &topics), ALL).await;
    assert_eq!(report["messages"], 1);
    published(&database, &topics, 6).await;
    let messages = topics.messages(streams::ORDERS).await;
    let sequences: String = messages.iter().map(|m| text(m, header::SEQUENCE)).collect();
    assert_eq!(sequences, "112345");
}

/// The row with the smallest id and the one with the largest are in gaps.
#[tokio::test(flavor = "multi_thread")]
async fn rows_in_gaps_are_published_once_and_only_the_published_row_again() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    let HalfDone { late, sent, stuck } = HalfDone::prepare(&database, &topics).await;
    topics.make(&[streams::INVENTORY]).await;
    let context = context(&database, &topics);
    assert_eq!(json_output(&context, ALL).await["messages"], 1);
    for (order, messages) in [(late, 0), (sent, 0), (stuck, 0)] {
        let order = order.to_string();
        let words = ["republish", "--aggregate", &order, "--by", "ada", "--reason", "why not", "--dry-run"];
        assert_eq!(json_output(&context, &words).await["messages"], messages, "{order}");
    }
    published(&database, &topics, 3).await;
    let messages = topics.messages(streams::ORDERS).await;
    let of =
        |order: OrderId| messages.iter().filter(|m| text(m, header::SUBJECT) == order.to_string()).count();
    assert_eq!((of(late), of(sent), topics.count(streams::INVENTORY).await), (1, 2, 1));
}

/// The cursor has passed the blocked rows. Their cause is removed, and the relay publishes them after a release.
#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_row_is_not_republished_before_its_release() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let context = context(&database, &topics);
    let (bad, good) = (OrderId::generate(), OrderId::generate());
    append_one(&database, 1, &confirmed(bad)).await;
    set_tenant(&database, bad, "not a name").await;
    append_one(&database, 2, &confirmed(bad)).await;
    append_one(&database, 1, &confirmed(good)).await;
    let first = relay(&database, &topics, settings());
    wait_for_blocked(&context, (2, 1)).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    first.stop().await;
    set_tenant(&database, bad, "acme").await;
    assert_eq!(json_output(&context, ALL).await["messages"], 1);
    published(&database, &topics, 2).await;
    let seen = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(seen, BTreeMap::from([(good.uuid(), history(1))]));

    json_output(&context, &RELEASE).await;
    let second = relay(&database, &topics, settings());
    wait_for_blocked(&context, (0, 0)).await;
    wait_for(&topics, streams::ORDERS, 4).await; // a relay that stops before that leaves them to the next one
    second.stop().await;
    assert_eq!(json_output(&context, ALL).await["messages"], 3);
    published(&database, &topics, 7).await;
    let seen = first_occurrences(&topics.messages(streams::ORDERS).await);
    assert_eq!(seen, BTreeMap::from([(good.uuid(), history(1)), (bad.uuid(), history(2))]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_republished_row_that_cannot_be_published_is_blocked_like_any_other() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let [bad, good] = [OrderId::generate(), OrderId::generate()];
    append_one(&database, 1, &confirmed(bad)).await;
    append_one(&database, 1, &confirmed(good)).await;
    published(&database, &topics, 2).await;
    set_tenant(&database, bad, "not a name").await;
    let context = context(&database, &topics);
    let id = bad.to_string();
    let words = ["republish", "--aggregate", &id, "--by", "ada", "--reason", "asked to"];
    assert_eq!(json_output(&context, &words).await["messages"], 1);
    assert_eq!(json_output(&context, ALL).await["messages"], 1, "the other row waits already");
    let relay = relay(&database, &topics, settings());
    wait_for_blocked(&context, (1, 1)).await;
    wait_for(&topics, streams::ORDERS, 3).await;
    relay.stop().await;
    let of_no_tenant = "SELECT count(*) AS count FROM audit_fact WHERE tenant_id = '@system'";
    assert_eq!(count(&database, of_no_tenant).await, 2);
}
