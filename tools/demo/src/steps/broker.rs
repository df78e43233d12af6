//! Without Kafka, orders are accepted and their events wait in the outbox; once Kafka is back, all are confirmed.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use harness::orders::Order;
use harness::{Part, Result, until};

use crate::demo::{Demo, LIMIT};
use crate::report::{Step, span};

const ORDERS: usize = 20;
const REFERENCE: &str = "broker-away";

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    demo.settled().await?;
    step.progress("stopping the broker");
    demo.stack.down(&[Part::KAFKA]).await?;
    let listens = demo.kafka.listens().await;
    let expected = "no listener (./dev does not stop a broker that IDEM_KAFKA_BROKERS names)";
    step.check("the broker", expected, "a listener", !listens, "./dev status");

    let start = Instant::now();
    let placed = try_join_all((0..ORDERS).map(|_| demo.order_tea(REFERENCE))).await?;
    let took = start.elapsed();
    let found = demo.orders_with_reference(REFERENCE).await?.len();
    step.equal("orders accepted", ORDERS, found, "./dev psql orders");
    let ready = demo.api.get(Part::ORDERS, "/health/ready").await?.status;
    step.equal("readiness of orders", 200, ready, "./dev logs orders");
    step.figure(format!("{found} orders accepted without the broker in {}", span(took)));

    let waiting = demo.books.backlog(Part::ORDERS, &demo.tenant).await?.of_tenant;
    step.equal(
        "events waiting in the outbox",
        i64::try_from(ORDERS).unwrap_or_default(),
        waiting,
        "./dev psql orders",
    );
    step.equal("pending orders", ORDERS, with_status(demo, &placed, "pending").await?, "./dev psql orders");
    step.figure(format!("outbox backlog {waiting}"));

    step.progress("starting the broker");
    demo.stack.up(&[Part::KAFKA]).await?;
    let back = Instant::now();
    step.progress("waiting until the backlog is drained");
    let drained = drained_after(demo, back).await?;
    until("all orders are confirmed", LIMIT, "./dev topics, ./dev logs", async || {
        let confirmed = with_status(demo, &placed, "confirmed").await?;
        Ok(if confirmed == ORDERS { Ok(()) } else { Err(format!("{confirmed} orders are confirmed")) })
    })
    .await?;
    let confirmed = with_status(demo, &placed, "confirmed").await?;
    step.equal("orders confirmed", ORDERS, confirmed, "./dev psql orders");
    step.figure(format!("broker back, drained after {}", span(drained)));
    step.figure(format!("all {confirmed} confirmed after {}", span(back.elapsed())));
    Ok(())
}

async fn drained_after(demo: &Demo<'_>, start: Instant) -> Result<Duration> {
    until("the outbox is drained", LIMIT, "./dev logs orders", async || {
        let waiting = demo.books.backlog(Part::ORDERS, &demo.tenant).await?.of_tenant;
        Ok(if waiting == 0 { Ok(start.elapsed()) } else { Err(format!("{waiting} events wait")) })
    })
    .await
}

async fn with_status(demo: &Demo<'_>, orders: &[Order], status: &str) -> Result<usize> {
    let now = try_join_all(orders.iter().map(|order| demo.api.order(order.id))).await?;
    Ok(now.iter().filter(|order| order.status == status).count())
}
