//! Processes and servers that are away.

use e2e::{Customer, Options};
use testkit::Broker;

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_process_or_server_that_is_away_fires_its_alert_until_it_is_back() {
    let mut broker = Broker::start().await;
    let options = Options { brokers: Some(broker.brokers()), ..Options::default() };
    let mut watched = Watched::start(options).await;

    watched.stack.kill("inventory").await;
    watched.prometheus.fires("InstanceDown of inventory").await;
    watched.launch("inventory", &[]).await;
    watched.prometheus.is_quiet("InstanceDown of inventory").await;

    watched.stack.kill("inventory-relay").await;
    watched.prometheus.fires("RelayMissing of inventory").await;
    watched.stack.launch("inventory-relay", &[]);
    watched.prometheus.is_quiet("RelayMissing of inventory").await;

    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await; // orders knows the item now
    broker.kill().await;
    let order = customer.places(1).await;
    watched.prometheus.fires("DependencyAway of orders").await;
    broker.start_again().await;
    watched.prometheus.is_quiet("DependencyAway of orders").await;
    customer.sees(order, "confirmed").await;
}
