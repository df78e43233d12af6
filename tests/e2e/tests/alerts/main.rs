#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Alerts of deploy/prometheus on running services: each fault fires its alert, and the cure of the runbook ends it.
//!
//! They need Prometheus, so `./dev alerts` runs them.

mod prometheus;

use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Options, Part, Stack};
use prometheus::Prometheus;
use serde_json::json;
use testkit::{Broker, free_port};
use uuid::Uuid;

const SERVICES: [&str; 3] = ["orders", "payments", "inventory"];
const CHARGE: &str = "POST /v1/payment_intents";
const UNKNOWN: &str = "SELECT count(*) FROM payment WHERE state = 'unknown'";

/// An installation with separate relays, and the Prometheus that scrapes its services.
struct Watched {
    stack: Stack,
    ports: [(&'static str, u16); 3],
    prometheus: Prometheus,
}

impl Watched {
    async fn start(options: Options) -> Self {
        let options = Options { separate_relays: true, lease_seconds: Some(2), ..options };
        let mut stack = Stack::prepared(options).await;
        let ports = SERVICES.map(|service| (service, free_port()));
        stack.launch_ready("provider", &[]).await;
        for (service, port) in ports {
            launch(&mut stack, service, port).await;
            stack.launch_ready(&format!("{service}-relay"), &[]).await;
        }
        let prometheus = Prometheus::start(&ports).await;
        Self { stack, ports, prometheus }
    }

    /// Starts a service again, where Prometheus finds it.
    async fn launch(&mut self, service: &str) {
        let (_, port) = self.ports.into_iter().find(|(name, _)| *name == service).unwrap();
        launch(&mut self.stack, service, port).await;
    }

    /// Changes the database of a service as its owner.
    async fn meddle(&self, part: Part, sql: &str) {
        self.stack.database(part).owner().await.batch_execute(sql).await.unwrap();
    }

    /// An operator's command that must be done.
    async fn operate(&self, part: Part, words: &[&str]) {
        let output =
            self.stack.operate(part, &[words, &["--by", "kim", "--reason", "an alert"]].concat()).await;
        assert!(output.is_success(), "{output:?}");
    }
}

async fn launch(stack: &mut Stack, service: &str, port: u16) {
    let admin = port.to_string();
    let settings = [("IDEM_ADMIN__PORT", admin.as_str()), ("IDEM_AUDIT__PAUSE_SECONDS", "1")];
    stack.launch_ready(service, &settings).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_process_or_server_that_is_away_fires_its_alert_until_it_is_back() {
    let mut broker = Broker::start().await;
    let options = Options { brokers: Some(broker.brokers()), ..Options::default() };
    let mut watched = Watched::start(options).await;

    watched.stack.kill("payments").await;
    watched.prometheus.fires("InstanceDown of payments").await;
    watched.launch("payments").await;
    watched.prometheus.is_quiet("InstanceDown of payments").await;

    watched.stack.kill("inventory-relay").await;
    watched.prometheus.fires("RelayMissing of inventory").await;
    watched.stack.launch("inventory-relay", &[]);
    watched.prometheus.is_quiet("RelayMissing of inventory").await;

    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await; // orders knows the item now
    broker.kill().await;
    let order = customer.places(1, "pm_card_visa").await;
    watched.prometheus.fires("DependencyAway of orders").await;
    broker.start_again().await;
    watched.prometheus.is_quiet("DependencyAway of orders").await;
    customer.sees(order, "confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn work_that_waits_for_an_operator_fires_its_alert_until_the_command_of_the_runbook() {
    let mut watched = Watched::start(Options::default()).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;

    let id = Uuid::new_v4();
    let parked = format!(
        "INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, partition, record_offset, \
                                   headers, payload, error) \
         VALUES ('inventory', '{id}', 'orders', gen_random_uuid(), 1, 'parked', 't', 0, 0, '[]', '', 'planted')"
    );
    watched.meddle(Part::Inventory, &parked).await;
    watched.prometheus.fires("MessageParked of inventory").await;
    watched.prometheus.fires("InvariantViolated of inventory").await;
    watched.operate(Part::Inventory, &["inbox", "discard", &id.to_string()]).await;
    watched.prometheus.is_quiet("MessageParked of inventory").await;

    // Nobody answers the order, so it stays open.
    watched.stack.stop("payments").await;
    let order = customer.places(1, "pm_card_visa").await;
    customer.sees(order, "awaiting_payment").await;
    watched.meddle(Part::Orders, "UPDATE orders SET placed_at = placed_at - interval '20 minutes'").await;
    watched.prometheus.fires("OrderOpenTooLong of any").await;
    watched.operate(Part::Orders, &["expire", &order.to_string()]).await;
    watched.prometheus.is_quiet("OrderOpenTooLong of any").await;
    watched.launch("payments").await;

    let faults = json!([
        { "kinds": ["drop_reply"], "route": CHARGE, "times": 1 },
        { "kinds": ["outage"] },
        { "kinds": ["late_webhook"], "delay_ms": 60_000 },
    ]);
    watched.stack.faults(faults).await;
    let order = customer.places(1, "pm_card_visa").await;
    watched.stack.counts(Part::Payments, UNKNOWN, 1).await;
    watched
        .meddle(Part::Payments, "UPDATE payment SET updated_at = updated_at - interval '20 minutes'")
        .await;
    watched.prometheus.fires("PaymentUnknown of any").await;
    watched.stack.no_faults().await;
    customer.sees(order, "confirmed").await;
    watched.prometheus.is_quiet("PaymentUnknown of any").await;
}
