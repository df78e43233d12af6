//! A consumer that cannot read a record, whose partition waits, or that is slower than its producers.

use contracts::{Currency, Money, streams};
use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Options, Part, TEA};
use futures_util::future::join_all;
use harness::inventory::put_item;
use serde_json::Value;
use testkit::{Broker, eventually, remove_records};

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_record_that_cannot_be_read_fires_its_alert_until_it_is_discarded() {
    let broker = Broker::start().await;
    let mut watched = Watched::start(Options { brokers: Some(broker.brokers()), ..Options::default() }).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    watched.stack.at_rest().await;

    watched.stack.stop("inventory").await;
    let order = customer.places(1).await;
    let kafka = watched.stack.kafka();
    let placed = eventually("the event is on its topic", async || {
        let messages = kafka.messages(customer.tenant()).await.unwrap();
        messages.into_iter().find(|message| message.key == Some(order))
    })
    .await;
    broker.corrupt(&kafka.topics.events(streams::ORDERS), placed.partition, placed.offset);
    watched.launch("inventory", &[]).await;
    watched.prometheus.fires("MessageParked of inventory").await;

    // Its order is published again, and ends.
    watched.operate(Part::ORDERS, &["outbox", "republish", "--aggregate", &order.to_string()]).await;
    customer.sees(order, "confirmed").await;
    let listed = watched.stack.operate(Part::INVENTORY, &["inbox", "parked", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let parked = listed["messages"][0]["message_id"].as_str().unwrap();
    watched.operate(Part::INVENTORY, &["inbox", "discard", parked]).await;
    watched.prometheus.is_quiet("MessageParked of inventory").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn records_that_retention_removed_fire_their_alert_and_are_published_again() {
    let mut watched = Watched::start(Options::default()).await;
    let customer = Customer::stocked(&watched.stack, 20).await;
    customer.buys(1).await;
    watched.stack.at_rest().await;
    watched.stack.stop("inventory").await;
    let order = customer.places(1).await;
    let kafka = watched.stack.kafka();
    eventually("the event is on its topic", async || {
        let messages = kafka.messages(customer.tenant()).await.unwrap();
        messages.into_iter().any(|message| message.key == Some(order)).then_some(())
    })
    .await;
    remove_records(&kafka.topics.events(streams::ORDERS)).await;
    watched.launch("inventory", &[]).await;
    // A new record in the same partition shows the consumer the gap.
    watched.operate(Part::ORDERS, &["outbox", "republish", "--aggregate", &order.to_string()]).await;
    watched.prometheus.fires("RecordsMissing of inventory").await;
    customer.sees(order, "confirmed").await;
    watched.restart("inventory", &[]).await;
    watched.prometheus.is_quiet("RecordsMissing of inventory").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_partition_that_waits_fires_its_alert_until_the_cause_is_removed() {
    let mut watched = Watched::start(Options::default()).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    let limits = [("IDEM_INBOX__ATTEMPTS", "1"), ("IDEM_INBOX__PARKING_LIMIT", "1")];
    watched.restart("inventory", &limits).await;
    // Every reservation fails. One order is parked, and the next one waits with its partition.
    watched
        .meddle(Part::INVENTORY, "ALTER TABLE reservation ADD CONSTRAINT planted CHECK (false) NOT VALID")
        .await;
    let orders = [customer.places(1).await, customer.places(1).await];
    watched.prometheus.fires("PartitionStopped of inventory").await;

    watched.meddle(Part::INVENTORY, "ALTER TABLE reservation DROP CONSTRAINT planted").await;
    watched.prometheus.is_quiet("PartitionStopped of inventory").await;
    watched.operate(Part::INVENTORY, &["inbox", "redrive", "--all"]).await;
    for order in orders {
        customer.sees(order, "confirmed").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_consumer_that_falls_behind_fires_its_alert_until_what_delays_it_is_ended() {
    let watched = Watched::start(Options::default()).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    // A report locks out the consumer.
    let mut report = watched.stack.database(Part::ORDERS).owner().await;
    report.batch_execute("BEGIN; LOCK TABLE inbox_message IN SHARE MODE").await.unwrap();
    let change = async |number: i64| {
        for price in 1.. {
            let (sku, price) = (format!("TEA-{number}"), Money::new(price, Currency::Eur));
            let put = customer.send(&put_item(&sku, TEA, price)).await;
            assert!([200, 201].contains(&put.status), "{}", put.json());
        }
    };
    let changes = join_all((0..8).map(change));
    tokio::select! { () = watched.prometheus.fires("ConsumerLagGrows of orders") => {}, _ = changes => {} }
    watched.end_transactions(Part::ORDERS, "inbox_message", "ShareLock").await;
    watched.prometheus.is_quiet("ConsumerLagGrows of orders").await;
    watched.stack.at_rest().await;
}
