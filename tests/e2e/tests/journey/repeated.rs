//! Repeated requests and repeated messages have one effect.

use std::collections::BTreeSet;

use e2e::{Customer, Part, Stack};
use futures_util::future::join_all;
use testkit::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_request_is_one_order_and_equal_responses() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.places(1).await;
    let request = customer.tea(2);
    let responses = join_all((0..20).map(async |_| {
        // 409 says that the key is in progress: the client waits and sends again.
        eventually("a final response", async || {
            Some(customer.send(&request).await).filter(|response| response.status != 409)
        })
        .await
    }))
    .await;
    assert!(responses.iter().all(|response| response.status == 201));
    let replays = responses.iter().filter(|response| response.is_replay()).count();
    let bodies: BTreeSet<_> = responses.into_iter().map(|response| response.body).collect();
    assert_eq!((bodies.len(), replays), (1, 19));
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rewound_consumers_change_nothing() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(2).await;
    customer.buys(2).await;
    stack.settled().await;
    let of_two_orders = stack.events().await;
    customer.buys(2).await;
    stack.settled().await;
    let (before, events) = (customer.stock().await, stack.events().await);

    for service in Part::SERVICES {
        stack.stop(service.name()).await;
    }
    stack.kafka().rewind().await.unwrap();
    for service in Part::SERVICES {
        stack.launch_ready(service.name(), &[]).await;
    }
    for service in Part::SERVICES {
        eventually(&format!("{} has read its topics again", service.name()), async || {
            stack.program(service.name()).log().contains("DuplicateIgnored").then_some(())
        })
        .await;
    }
    // A new order comes behind all old messages: once it is confirmed, all of them were read again.
    customer.buys(1).await;
    stack.settled().await;
    let after = customer.stock().await;
    assert_eq!((after.on_hand, after.reserved), (before.on_hand - 1, before.reserved));
    assert_eq!(
        stack.events().await,
        events + (events - of_two_orders),
        "a new order has as many events as an old one"
    );
}
