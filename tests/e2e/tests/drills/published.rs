//! What the relay calls published is compared with the topics by message id, not by the relay's own cursor.

use audits::Database;
use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Options, Part, Stack};

const SKIP_ALL: &str =
    "UPDATE outbox_cursor SET position = (SELECT coalesce(max(id), 0) FROM outbox_event), gaps = '{}'";

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_the_cursor_has_skipped_is_named_although_the_relay_counts_it_as_published() {
    let mut stack = Stack::with(Options { separate_relays: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.stop("orders-relay").await;
    let skipped = customer.places(1).await;
    stack.database(Part::ORDERS).owner().await.batch_execute(SKIP_ALL).await.unwrap();

    let books = stack.books();
    let backlog = books.backlog(Part::ORDERS, customer.tenant()).await.unwrap();
    assert_eq!(backlog.waiting, 0, "the cursor says that all is published");
    let question = audits::all().find(|it| it.file.ends_with("what_was_committed_is_published.sql"));
    assert_eq!(books.ask(Database::ORDERS, question.unwrap()).await.unwrap(), [""; 0]);
    let delivery = books.delivery(&stack.kafka(), customer.tenant()).await.unwrap();
    let found = delivery.unpublished();
    let events = "SELECT count(*) FROM outbox_event WHERE aggregate_id::text = $1";
    let events = books.count_of(Part::ORDERS, events, skipped).await.unwrap();
    assert!(events > 0 && i64::try_from(found.len()).unwrap() == events, "{found:?}");
    assert!(found.iter().all(|it| it.contains("is committed, but not on")), "{found:?}");

    // The cure: the operator sends what the cursor has passed.
    let aggregate = skipped.to_string();
    let republish = ["outbox", "republish", "--aggregate", &aggregate, "--by", "dana", "--reason", "skipped"];
    let output = stack.operate(Part::ORDERS, &republish).await;
    assert!(output.is_success(), "{output:?}");
    stack.launch_ready("orders-relay", &[]).await;
    customer.sees(skipped, "confirmed").await;
}
