//! Processes and servers that are away.

use std::fs;

use e2e::{Customer, Options};
use testkit::{Broker, identity};
use uuid::Uuid;

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_process_or_server_that_is_away_fires_its_alert_until_it_is_back() {
    let mut broker = Broker::start().await;
    let options = Options { brokers: Some(broker.brokers()), ..Options::default() };
    let mut watched = Watched::start(options).await;

    watched.stack.kill("inventory").await;
    watched.prometheus.fires("InstanceDown of inventory").await;
    watched.prometheus.fires("ServiceGone of inventory").await;
    watched.launch("inventory", &[]).await;
    watched.prometheus.is_quiet("InstanceDown of inventory").await;
    watched.prometheus.is_quiet("ServiceGone of inventory").await;

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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn keys_of_tokens_that_are_withdrawn_fire_an_alert_until_they_are_back() {
    let mut watched = Watched::start(Options::default()).await;
    let keys = std::env::temp_dir().join(format!("alerts-{}.jwks.json", Uuid::new_v4()));
    fs::write(&keys, identity::jwks()).unwrap();
    let settings = [("IDEM_AUTH__JWKS", keys.to_str().unwrap()), ("IDEM_AUTH__JWKS_REFRESH_SECONDS", "1")];
    watched.restart("orders", &settings).await;
    fs::write(&keys, r#"{"keys":[]}"#).unwrap();
    watched.prometheus.fires("DependencyAway of orders").await;
    fs::write(&keys, identity::jwks()).unwrap();
    watched.prometheus.is_quiet("DependencyAway of orders").await;
    fs::remove_file(&keys).unwrap();
}
