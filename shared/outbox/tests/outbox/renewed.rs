//! The password of the brokers is replaced while a relay runs.

use contracts::{OrderId, streams};
use outbox::Relay;
use testkit::{Authority, Background, Broker, BrokerTls, TestDatabase, eventually};

use crate::common::{append_one, confirmed, settings};

async fn published(broker: &Broker, topic: &str, number: usize) {
    eventually("the event is published", async || (broker.count(topic).await == number).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_goes_on_with_a_password_that_was_replaced() {
    let authority = Authority::new();
    let mut broker = Broker::with_tls(BrokerTls::with_login(&authority, "PLAIN")).await;
    let (database, topics) = (TestDatabase::plain().await, broker.topics(&[streams::ORDERS]).await);
    let relay = Relay::new((*database).clone(), broker.brokers(), topics.clone(), settings());
    let relay = Background::run(|stop| relay.run(stop));
    let events = topics.events(streams::ORDERS);
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    published(&broker, &events, 1).await;

    broker.stop().await;
    authority.file("password", "second");
    broker.start_again().await;
    append_one(&database, 1, &confirmed(OrderId::generate())).await;
    published(&broker, &events, 2).await;
    relay.stop().await;
}
