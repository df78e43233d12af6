//! Events that are late, or that Kafka refuses.

use e2e::{Customer, Options, Part};
use testkit::Broker;

use crate::Watched;

/// Events for a topic that no consumer reads.
const BACKLOG: &str = "\
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload) \
    SELECT gen_random_uuid(), 'orders.dlq', id, 'order', id, 1, 'orders.OrderConfirmed.v1', 'orders', 'acme', '{}' \
      FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 100001)) AS made";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_backlog_fires_its_alert_until_the_relay_has_published_it() {
    let mut watched = Watched::start(Options::default()).await;
    watched.stack.stop("orders-relay").await;
    watched.meddle(Part::ORDERS, BACKLOG).await;
    watched.prometheus.fires("OutboxBacklog of orders").await;
    watched.stack.launch_ready("orders-relay", &[]).await;
    watched.prometheus.is_quiet("OutboxBacklog of orders").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn events_that_are_late_or_blocked_fire_their_alerts_until_they_are_published() {
    let mut broker = Broker::start().await;
    let watched = Watched::start(Options { brokers: Some(broker.brokers()), ..Options::default() }).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    watched.stack.at_rest().await;

    broker.kill().await;
    let [late, refused] = [(); 2].map(|()| customer.places(1));
    let (late, refused) = tokio::join!(late, refused);
    let change = async |order, column: &str| {
        let sql = format!("UPDATE outbox_event SET {column} WHERE aggregate_id = '{order}'");
        watched.meddle(Part::ORDERS, &sql).await;
    };
    change(late, "created_at = created_at - interval '2 minutes'").await;
    // No header of a message can name such a tenant.
    change(refused, "tenant_id = 'not a name'").await;
    watched.prometheus.fires("EventsLate of orders").await;
    broker.start_again().await;
    watched.prometheus.is_quiet("EventsLate of orders").await;
    customer.sees(late, "confirmed").await;

    watched.prometheus.fires("EventsBlocked of orders").await;
    change(refused, &format!("tenant_id = '{}'", customer.tenant())).await;
    watched.operate(Part::ORDERS, &["outbox", "release"]).await;
    watched.prometheus.is_quiet("EventsBlocked of orders").await;
    customer.sees(refused, "confirmed").await;
}
