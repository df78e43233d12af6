//! A standby that stopped replaying is promoted: the databases are those of an earlier moment, and the topics and the
//! processor's books are not. The test follows the drill of `docs/repairs.md`.

use std::collections::BTreeSet;

use contracts::{OrderId, PaymentId};
use e2e::{Customer, Options, Order, Part, Request, Stack, publishers};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use testkit::{Postgres, Replication, eventually};
use uuid::Uuid;

use crate::NEXT_TRANSACTION;

/// The number of orders that the standby has not replayed.
const LOST: usize = 1_000;

const CONFIRMED: &str = "SELECT count(*) FROM orders WHERE state = 'confirmed'";

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failover_to_a_lagging_standby_what_survived_ends_and_what_was_lost_is_named() {
    let (mut primary, mut standby) = Postgres::with_standby(Replication::Asynchronous).await;
    let postgres = Some(primary.url_with(&standby));
    let mut stack = Stack::with(Options { postgres, lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    customer.buys(1).await;
    let kept = places(&customer, 60).await;
    standby.stop_fast().await;
    let lost = places(&customer, LOST).await;
    eventually("orders are confirmed that the standby has not seen", async || {
        (stack.count(Part::ORDERS, CONFIRMED).await >= 70).then_some(())
    })
    .await;
    let before = stack.count(Part::ORDERS, NEXT_TRANSACTION).await;
    primary.kill().await;

    // The drill: no service runs until the events of lost rows are gone from the topics.
    stack.stop_services().await;
    standby.start_again().await;
    standby.promote().await;
    assert!(stack.count(Part::ORDERS, NEXT_TRANSACTION).await < before, "the numbers did not go back");
    delete_topics(&stack).await;
    stack.launch_services().await;

    let survivors = stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await;
    println!("{survivors} orders survived, of {}", kept.len() + lost.len() + 1);
    stack.at_rest().await;
    assert_eq!(stack.count(Part::ORDERS, CONFIRMED).await, survivors);
    for service in publishers() {
        let log = stack.program(service.name()).log();
        assert!(log.contains("OutboxStartedOver"), "the relay of {} took no notice", service.name());
    }
    names_what_was_lost(&stack).await;
    let books = stack.books();
    for asked in books.ask_each().await {
        assert_eq!(asked.found().unwrap(), [""; 0], "{asked:?}");
    }
    let delivery = books.delivery(&stack.kafka(), customer.tenant()).await.unwrap();
    assert_eq!(delivery.unpublished(), [""; 0], "topics and outboxes have the same events");
    for (request, order) in [&kept[0], &lost[LOST - 1]] {
        let again: Order = customer.send(request).await.read(201).unwrap();
        assert_eq!(again.id == *order, kept.iter().any(|(_, id)| id == order), "a survivor is replayed");
        customer.sees(again.id, "confirmed").await;
    }
}

/// Asserts that `payments reconcile` names exactly the charges that no row of payments asked for.
async fn names_what_was_lost(stack: &Stack) {
    let books = stack.books();
    let survivors = books.orders().await.unwrap();
    let kept: BTreeSet<String> =
        survivors.iter().map(|order| PaymentId::of(OrderId::from(order.id)).to_string()).collect();
    let mut lost = books.charges().await.unwrap();
    let charged = lost.len();
    lost.retain(|charge| !charge.payment.as_ref().is_some_and(|payment| kept.contains(payment)));
    assert!(!lost.is_empty(), "no lost order was charged");
    assert_eq!(charged - lost.len(), survivors.len(), "each surviving order is charged once");

    // Otherwise the last quarter of an hour would be too young to be missing.
    let grace = ("IDEM_RECONCILE__GRACE_SECONDS", "1");
    let output = stack.operate_with(Part::PAYMENTS, &["reconcile", "--json"], &[grace]).await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(report["counts"]["charges"]["missing_here"], lost.len());
    let orphans = "SELECT count(*) FROM review WHERE reason = 'orphan' AND resolution IS NULL";
    assert_eq!(stack.count(Part::PAYMENTS, orphans).await, i64::try_from(lost.len()).unwrap());
}

/// Deletes the topics of events with Kafka's own means. The services make them again when they start.
async fn delete_topics(stack: &Stack) {
    let topics = Part::SERVICES.map(|part| stack.kafka().topics.events(part.stream()));
    testkit::delete_topics(&topics).await.unwrap();
}

/// Places so many orders, several at a time; returns each request and its order.
async fn places(customer: &Customer, orders: usize) -> Vec<(Request, Uuid)> {
    let place = async |_| {
        let request = customer.tea(1);
        let accepted = eventually("the order is accepted", async || {
            customer.send(&request).await.read::<Order>(201).ok()
        });
        let order = accepted.await.id;
        (request, order)
    };
    stream::iter(0..orders).map(place).buffer_unordered(16).collect().await
}
