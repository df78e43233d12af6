//! `inbox parked` and `inbox show`: the reports about waiting messages.

use contracts::OrderId;
use envelope::header;
use serde_json::json;
use testkit::{TestDatabase, TestTopics};

use crate::common::{
    CONSUMER, Operator, TestRecord, confirmed, database, parked, publish, record, recording, run,
    wait_until_done,
};

/// An unreadable message with two held behind it, and a message of another order that is not text.
async fn waiting() -> (TestDatabase, TestTopics, OrderId) {
    let (database, topics) = (database().await, TestTopics::create().await);
    let order = OrderId::generate();
    let other = record(&topics, 1, &confirmed(OrderId::generate()));
    let records = [
        record(&topics, 1, &confirmed(order)).saying("{\"order\": \"\u{1b}[2J\"}"),
        record(&topics, 2, &confirmed(order)),
        record(&topics, 3, &confirmed(order)),
        TestRecord { payload: vec![0xff, 0xfe], ..other }.with(header::TYPE, b"orders.\x1b[2J.v1"),
    ];
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &records).await;
    wait_until_done(&topics).await;
    runner.stop().await;
    (database, topics, order)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_shows_parked_messages_and_the_number_held_behind_each() {
    let (database, topics, order) = waiting().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let (done, all) = operator.asks("parked").await;
    assert_eq!((done, all["messages"].as_array().map(Vec::len)), (true, Some(4)));
    let (_, report) = operator.asks(&format!("parked --aggregate {order}")).await;
    let messages = report["messages"].as_array().unwrap();
    let seen: Vec<_> = messages.iter().map(|m| (&m["state"], &m["sequence"], &m["held_behind"])).collect();
    let (held, held_too) = ((json!("held"), json!(2), json!(1)), (json!("held"), json!(3), json!(0)));
    let first = (json!("parked"), json!(1), json!(2));
    let expected = [&first, &held, &held_too].map(|(state, n, behind)| (state, n, behind));
    assert_eq!(seen, expected);
    let first = &messages[0];
    assert_eq!(
        (&first["type"], &first["source"], &first["aggregate_id"]),
        (&json!("orders.OrderConfirmed.v1"), &json!("orders"), &json!(order))
    );
    assert_eq!(first["topic"], json!(topics.events(contracts::streams::ORDERS)));
    assert!(first["error"].as_str().unwrap().contains("cannot be read"), "{first:#}");
    assert!(first["since"].as_str().unwrap().ends_with('Z') && first["offset"].is_i64());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_message_is_shown_with_its_headers_and_its_bytes() {
    let (database, topics, order) = waiting().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let rows = parked(&database).await;
    let text = rows.iter().find(|row| row.aggregate_id == order.uuid() && row.sequence == 1).unwrap();
    let (done, shown) = operator.asks(&format!("show {}", text.message_id)).await;
    assert!(done);
    assert_eq!(shown["payload_text"], json!("{\"order\": \"\u{1b}[2J\"}"));
    assert_eq!((&shown["payload_base64"], &shown["next_sequence"]), (&json!(null), &json!(1)));
    assert_eq!(shown["headers"][0], json!([header::ID, text.message_id]));
    assert_eq!((&shown["held_behind"], &shown["state"]), (&json!(2), &json!("parked")));

    let bytes = rows.iter().find(|row| row.payload == [0xff, 0xfe]).unwrap();
    let (_, shown) = operator.asks(&format!("show {}", bytes.message_id)).await;
    assert_eq!((&shown["payload_text"], &shown["payload_base64"]), (&json!(null), &json!("//4=")));

    let unknown = operator.types(&format!("show {}", OrderId::generate())).await;
    assert!(!unknown.done && unknown.text.contains("does not wait"), "{}", unknown.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn control_characters_of_a_message_do_not_reach_the_terminal() {
    let (database, topics, _) = waiting().await;
    let operator = Operator::new(&database, &topics, recording("one"));
    let mut texts = vec![operator.types("parked").await.text];
    for row in parked(&database).await {
        texts.push(operator.types(&format!("show {}", row.message_id)).await.text);
    }
    for text in texts {
        assert!(text.contains(CONSUMER) || text.contains("orders"), "{text}");
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_says_so() {
    let (database, topics) = (database().await, TestTopics::names());
    let operator = Operator::new(&database, &topics, recording("one"));
    assert_eq!(operator.types("parked").await.text, "no message waits\n");
    assert_eq!(operator.asks("parked").await, (true, json!({ "messages": [] })));
}
