//! A server away for a while: PostgreSQL, Kafka.

use e2e::{Customer, Options, Stack, key};
use serde_json::Value;
use testkit::{Broker, Proxy, eventually, given, http};

#[tokio::test(flavor = "multi_thread")]
async fn with_the_broker_away_orders_are_accepted_and_end_well_when_it_is_back() {
    let mut broker = Broker::start().await;
    let stack = Stack::with(Options { brokers: Some(broker.brokers()), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
    broker.stop().await;
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(customer.places(1, "pm_card_visa").await);
    }
    for order in &orders {
        assert_eq!(customer.order(order).await["status"], "pending");
    }
    broker.start_again().await;
    for order in &orders {
        customer.sees(order, "confirmed").await;
    }
    stack.settled().await;
    assert_eq!(customer.item(e2e::TEA).await["on_hand"], 94);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_database_away_commands_are_told_to_come_back_and_then_succeed() {
    let server = given("IDEM_POSTGRES_URL");
    let address = server.rsplit('@').next().unwrap().split('/').next().unwrap().to_owned();
    let proxy = Proxy::to(address).await;
    let stack = Stack::with(Options { orders_database: Some(proxy.address()), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;

    proxy.cut().await;
    let key = key();
    let refused = customer.placing(&key, 1, "pm_card_visa").send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("Retry-After"));
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    let ready =
        http::client().get(format!("{}/health/ready", stack.url("orders").await)).send().await.unwrap();
    assert_eq!(ready.status(), 503);
    let health: Value = ready.json().await.unwrap();
    assert_ne!(health["database"], "ok", "{health}");

    proxy.mend();
    let accepted = eventually("the same request succeeds", async || {
        let answer = customer.placing(&key, 1, "pm_card_visa").send().await.unwrap();
        (answer.status() == 201).then_some(answer)
    })
    .await;
    let order: Value = accepted.json().await.unwrap();
    customer.sees(order["id"].as_str().unwrap(), "confirmed").await;
    assert_eq!(stack.count("orders", "SELECT count(*) FROM orders").await, 2);
}
