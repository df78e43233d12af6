//! Which of several relays publishes, and what a replaced relay can still do.

use std::time::Duration;

use clap::Parser;
use contracts::{OrderId, streams};
use database::{Database, Settings};
use diesel_async::SimpleAsyncConnection;
use operators::{Installation, OperatorCommand, RelayCommand};
use outbox::RelaySettings;
use serde_json::Value;
use testkit::{Proxy, TestDatabase, TestTopics, eventually};
use tokio::runtime::Handle;

use crate::common::{
    append_one, confirmed, context, first_occurrences, progress, relay, reserved, rows, settings,
    short_lived, wait_for,
};

#[tokio::test(flavor = "multi_thread")]
async fn of_two_relays_on_one_database_one_is_active() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let relays =
        [relay(&database, &topics, settings()), relay(&database.second_instance(), &topics, settings())];
    for _ in 0..100 {
        append_one(&database, 1, &confirmed(OrderId::generate())).await;
    }
    wait_for(&topics, streams::ORDERS, 100).await;
    for relay in relays {
        relay.stop().await;
    }
    assert_eq!(topics.count(streams::ORDERS).await, 100, "two active relays publish everything twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_over_from_a_dead_relay() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let active = relay(&database, &topics, short_lived());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    let standby = relay(&database.second_instance(), &topics, short_lived());
    active.kill().await;
    let after = OrderId::generate();
    append_one(&database, 1, &confirmed(after)).await;
    eventually("the standby publishes", async || {
        first_occurrences(&topics.messages(streams::ORDERS).await).contains_key(&after.uuid()).then_some(())
    })
    .await;
    standby.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_stops_in_order_does_not_make_its_successor_wait() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let first = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    first.stop().await;
    // The lease is longer than the time limit of `wait_for`.
    let second = relay(&database, &topics, settings());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 2).await;
    second.stop().await;
    assert_eq!(topics.count(streams::ORDERS).await, 2, "it went on where the first had stopped");
}

/// The first relay was paused for so long that another took over (here: the rows that the other would have written).
/// Then its message is acknowledged at last, as the topic comes into being.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_relay_cannot_move_the_cursor() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    // It does not renew its lease during the test, and so does not notice the takeover before it writes.
    let unaware = RelaySettings { lease: Duration::from_hours(1), ..settings() };
    let paused = relay(&database, &topics, unaware);
    let mut both = database.begin().await.unwrap();
    crate::common::write(&mut both, 1, &reserved(OrderId::generate())).await;
    crate::common::write(&mut both, 1, &confirmed(OrderId::generate())).await;
    both.commit().await.unwrap();
    wait_for(&topics, streams::ORDERS, 1).await; // so the first row is on its way too
    let mut owner = database.owner().await;
    owner
        .batch_execute(
            "BEGIN; \
             UPDATE outbox_lease SET owner = 'another', epoch = epoch + 1, lease_until = clock_timestamp() + '1 hour'; \
             UPDATE outbox_cursor SET epoch = epoch + 1; \
             COMMIT",
        )
        .await
        .unwrap();
    let taken_over = progress(&database).await;

    topics.make(&[streams::INVENTORY]).await;
    wait_for(&topics, streams::INVENTORY, 1).await;
    paused.stop().await; // it takes the acknowledgement and tries to write it down
    assert_eq!(progress(&database).await, taken_over);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_without_its_database_is_replaced_and_comes_back_as_a_standby() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::create().await);
    let proxy = Proxy::to_postgres().await;
    let url = database.service_url(Some(proxy.address()));
    let cut_off = Database::new(&Settings::new(url), Handle::current()).unwrap();
    let first = relay(&cut_off, &topics, short_lived());
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;

    proxy.cut().await;
    let before = progress(&database).await.epoch;
    let looks_often = RelaySettings { lease: Duration::from_secs(5), ..settings() };
    let second = relay(&database, &topics, looks_often);
    eventually("a takeover", async || (progress(&database).await.epoch > before).then_some(())).await;
    proxy.mend();
    eventually("the first is back", async || cut_off.ping().await.ok()).await;
    for sequence in 2..=50 {
        append_one(&database, sequence, &confirmed(OrderId::generate())).await;
    }
    eventually("everything", async || {
        let published = first_occurrences(&topics.messages(streams::ORDERS).await);
        (i64::try_from(published.len()).unwrap() == rows(&database).await).then_some(())
    })
    .await;
    assert_eq!(progress(&database).await.epoch, before + 1, "the one that came back took the lease");
    first.stop().await;
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_steps_down_can_publish_nothing_more_in_its_term_and_the_next_term_loses_nothing() {
    let (database, topics) = (TestDatabase::plain().await, TestTopics::names());
    topics.make(&[streams::ORDERS]).await;
    let context = context(&database, &topics);
    let none = step_down(&context, &[]).await;
    assert_eq!(none["relay"], Value::Null, "no relay is active");

    // The relay waits for a topic, and its lease lasts for minutes.
    let relay = relay(&database, &topics, settings());
    append_one(&database, 1, &reserved(OrderId::generate())).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    wait_for(&topics, streams::ORDERS, 1).await;
    // Its checkpoint would look like an effect of the dry run.
    let before = eventually("the checkpoint of the published event", async || {
        Some(progress(&database).await).filter(|progress| progress.position > 0)
    })
    .await;
    let planned = step_down(&context, &["--dry-run"]).await;
    assert_eq!(progress(&database).await, before);
    let done = step_down(&context, &[]).await;
    assert_eq!(done["relay"], planned["relay"]);
    assert_eq!(progress(&database).await.epoch, before.epoch + 1);
    let fenced =
        "SELECT count(*) FROM outbox_cursor JOIN outbox_lease ON outbox_cursor.epoch = outbox_lease.epoch";
    assert_eq!(
        crate::common::count(&database, fenced).await,
        1,
        "the former holder can still move the cursor"
    );

    topics.make(&[streams::INVENTORY]).await;
    eventually("the next term", async || (progress(&database).await.epoch == before.epoch + 2).then_some(()))
        .await;
    wait_for(&topics, streams::INVENTORY, 1).await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    eventually("all three events", async || {
        let orders = first_occurrences(&topics.messages(streams::ORDERS).await);
        (orders.len() == 2).then_some(())
    })
    .await;
    relay.stop().await;
    let facts =
        "SELECT count(*) FROM audit_fact WHERE action = 'relay.step_down' AND actor = '@operator:kim'";
    assert_eq!(crate::common::count(&database, facts).await, 1, "one fact, and none for a dry run");
}

/// Runs `relay step-down` as kim.
async fn step_down(context: &Installation, words: &[&str]) -> Value {
    #[derive(Parser)]
    struct CommandLine {
        #[command(subcommand)]
        command: RelayCommand,
    }
    let always = ["relay", "step-down", "--by", "kim", "--reason", "it hangs", "--json"];
    let line = CommandLine::try_parse_from(always.iter().chain(words)).unwrap();
    serde_json::from_str(&line.command.run(context).await.unwrap().text).unwrap()
}
