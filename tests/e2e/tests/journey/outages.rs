//! Kafka or PostgreSQL is away for a while.

use e2e::{Customer, Options, Order, Part, Stack};
use harness::host_of;
use testkit::{Broker, Proxy, eventually, given};

#[tokio::test(flavor = "multi_thread")]
async fn with_the_broker_away_orders_are_accepted_and_end_as_promised_when_it_is_back() {
    let mut broker = Broker::start().await;
    let stack = Stack::with(Options { brokers: Some(broker.brokers()), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(1).await;
    broker.stop().await;
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(customer.places(1).await);
    }
    for order in &orders {
        assert_eq!(customer.order(*order).await.status, "pending");
    }
    broker.start_again().await;
    for order in &orders {
        customer.sees(*order, "confirmed").await;
    }
    stack.settled().await;
    assert_eq!(customer.stock().await.on_hand, 94);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_database_away_commands_are_503_and_succeed_later() {
    let proxy = Proxy::to(host_of(&given("IDEM_POSTGRES_URL")).to_owned()).await;
    let stack = Stack::with(Options { orders_database: Some(proxy.address()), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(1).await;
    let accepted = customer.tea(1);
    let first = eventually("the order is accepted", async || {
        Some(customer.send(&accepted).await).filter(|response| response.status == 201)
    });
    let first = first.await;

    proxy.cut().await;
    let replay = customer.send(&accepted).await;
    assert!(replay.is_replay() && replay.body == first.body, "a replay from memory: {replay:?}");
    let request = customer.tea(1);
    let refused = customer.send(&request).await;
    assert_eq!(refused.status, 503);
    assert!(refused.retry_after().is_some());
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    // A health check of the second before the outage is cached.
    let not_ready = eventually("orders is not ready", async || {
        let health = stack.api().get(Part::ORDERS, "/health/ready").await.unwrap();
        Some(health).filter(|health| health.status == 503)
    });
    let health = not_ready.await.json();
    assert_ne!(health["database"], "ok", "{health}");
    // Without a confirmation no response is replayed from memory for long.
    eventually("replays end", async || (customer.send(&accepted).await.status == 503).then_some(())).await;

    proxy.mend();
    let accepted = eventually("the same request succeeds", async || {
        Some(customer.send(&request).await).filter(|response| response.status == 201)
    });
    let order: Order = accepted.await.read(201).unwrap();
    customer.sees(order.id, "confirmed").await;
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await, 3);
}
