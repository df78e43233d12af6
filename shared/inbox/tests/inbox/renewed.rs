//! The password of the brokers is replaced while a consumer runs.

use contracts::{OrderId, streams};
use testkit::{Authority, Broker, BrokerTls, TestTopics};

use crate::common::{confirmed, database, publish, record, recording, run, wait_for_effects};

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_goes_on_with_a_password_that_was_replaced() {
    let authority = Authority::new();
    let mut broker = Broker::with_tls(BrokerTls::with_login(&authority, "PLAIN")).await;
    let (database, topics) = (database().await, TestTopics::names_on(broker.brokers()));
    topics.make(&streams::ALL).await;
    let runner = run(&database, &topics, recording("one"));
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_for_effects(&database, 1).await;

    broker.stop().await;
    authority.file("password", "second");
    broker.start_again().await;
    publish(&topics, &[record(&topics, 1, &confirmed(OrderId::generate()))]).await;
    wait_for_effects(&database, 2).await;
    runner.stop().await;
}
