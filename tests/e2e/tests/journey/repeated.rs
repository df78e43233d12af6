//! The same again: one effect, and the same answer.

use std::collections::BTreeSet;

use contracts::Stream;
use e2e::{Customer, Stack, TEA, key};
use futures_util::future::join_all;
use messaging::admin;
use testkit::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn a_doubled_request_is_one_order_and_equal_answers() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.places(1, "pm_card_visa").await;
    let key = key();
    let answers = join_all((0..20).map(async |_| {
        eventually("an answer", async || {
            let answer = customer.placing(&key, 2, "pm_card_visa").send().await.unwrap();
            // In progress: wait and send it again, as the answer says.
            (answer.status() != 409).then_some(answer)
        })
        .await
    }))
    .await;
    let mut bodies = BTreeSet::new();
    let mut replayed = 0;
    for answer in answers {
        assert_eq!(answer.status(), 201);
        replayed += usize::from(answer.headers().contains_key("Idempotent-Replayed"));
        bodies.insert(answer.bytes().await.unwrap().to_vec());
    }
    assert_eq!((bodies.len(), replayed), (1, 19));
    assert_eq!(stack.count("orders", "SELECT count(*) FROM orders").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rewound_consumers_change_nothing() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    for _ in 0..3 {
        customer.sees(&customer.places(2, "pm_card_visa").await, "confirmed").await;
    }
    stack.settled().await;
    let before = customer.item(TEA).await;
    let told = async |stack: &Stack| {
        let mut events = 0;
        for name in ["orders", "inventory", "payments"] {
            events +=
                stack.count(name, "SELECT count(*) FROM outbox_event WHERE topic LIKE '%.events'").await;
        }
        events
    };
    let events = told(&stack).await;

    let heard = [
        ("orders", &[Stream::Inventory, Stream::Payments][..]),
        ("inventory", &[Stream::Orders]),
        ("payments", &[Stream::Orders]),
    ];
    for (name, streams) in heard {
        stack.program(name).terminate();
        assert!(stack.program(name).ended().await.success(), "{name} was asked to end");
        let topics: Vec<String> = streams.iter().map(|stream| stack.topics().events(*stream)).collect();
        let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
        let group = stack.topics().group(name);
        admin::rewind_group(&stack.topics().brokers(), &group, &topics).await.unwrap();
    }
    for name in ["inventory", "payments", "orders"] {
        stack.launch_ready(name, &[]).await;
    }
    for name in ["orders", "inventory", "payments"] {
        eventually(&format!("{name} has read its topics again"), async || {
            stack.program(name).log().contains("DuplicateIgnored").then_some(())
        })
        .await;
    }
    // Something new behind all the old: once it has arrived, everything before it has been read again.
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
    stack.settled().await;
    let after = customer.item(TEA).await;
    assert_eq!(after["on_hand"].as_i64().unwrap(), before["on_hand"].as_i64().unwrap() - 1);
    assert_eq!(after["reserved"], before["reserved"]);
    assert_eq!(told(&stack).await, events + 6, "one more order tells six more events");
}
