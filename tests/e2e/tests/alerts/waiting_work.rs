//! Work that waits for a person: a parked message, and an order that stays open.

use e2e::{Customer, Options, Part};
use uuid::Uuid;

use crate::Watched;

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
    watched.meddle(Part::INVENTORY, &parked).await;
    watched.prometheus.fires("MessageParked of inventory").await;
    watched.prometheus.fires("InvariantViolated of inventory").await;
    watched.operate(Part::INVENTORY, &["inbox", "discard", &id.to_string()]).await;
    watched.prometheus.is_quiet("MessageParked of inventory").await;

    // Nobody answers the order, so it stays open.
    watched.stack.stop("inventory").await;
    let order = customer.places(1).await;
    customer.sees(order, "pending").await;
    watched.meddle(Part::ORDERS, "UPDATE orders SET placed_at = placed_at - interval '20 minutes'").await;
    watched.prometheus.fires("OrderOpenTooLong of any").await;
    watched.operate(Part::ORDERS, &["expire", &order.to_string()]).await;
    watched.prometheus.is_quiet("OrderOpenTooLong of any").await;
    watched.launch("inventory", &[]).await;
}
