//! Kafka is away: orders are taken all the same, what there is to tell waits, and everything follows once it is back.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;

use crate::api::Order;
use crate::part::Part;
use crate::report::{Step, span};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, VISA, World};

const ORDERS: usize = 20;
const REFERENCE: &str = "broker-away";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    world.settled().await?;
    step.doing("stopping the broker");
    world.stack.down(&[Part::Kafka]).await?;
    let listens = world.kafka.listens().await;
    let expected = "nobody listening (one that IDEM_KAFKA_BROKERS names is not ours to stop)";
    step.holds("the broker", expected, "somebody who listens", !listens, "./dev status");

    let start = Instant::now();
    let placed = try_join_all((0..ORDERS).map(|_| world.order_tea(VISA, REFERENCE))).await?;
    let took = start.elapsed();
    let found = world.books.orders_called(&world.tenant, REFERENCE).await?.len();
    step.equal("orders accepted", ORDERS, found, "./dev psql orders");
    let ready = world.api.get(Part::Orders, "/health/ready").await?.status;
    step.equal("readiness of orders", 200, ready, "./dev logs orders");
    step.figure(format!("{found} orders accepted without it in {}", span(took)));

    let waiting = world.books.backlog(Part::Orders, &world.tenant).await?.of_tenant;
    step.equal(
        "events that wait in the outbox",
        i64::try_from(ORDERS).unwrap_or_default(),
        waiting,
        "./dev psql orders",
    );
    step.equal(
        "orders that wait",
        ORDERS,
        with_status(world, &placed, "pending").await?,
        "./dev psql orders",
    );
    step.figure(format!("outbox backlog {waiting}"));

    step.doing("starting the broker");
    world.stack.up(&[Part::Kafka]).await?;
    let back = Instant::now();
    step.doing("waiting until the backlog is drained");
    let drained = drained_after(world, back).await?;
    until("all orders are confirmed", PATIENCE, "./dev topics, ./dev logs", async || {
        let confirmed = with_status(world, &placed, "confirmed").await?;
        Ok(if confirmed == ORDERS { Ok(()) } else { Err(format!("{confirmed} are")) })
    })
    .await?;
    let confirmed = with_status(world, &placed, "confirmed").await?;
    step.equal("orders confirmed", ORDERS, confirmed, "./dev psql orders");
    step.figure(format!("broker back, drained after {}", span(drained)));
    step.figure(format!("all {confirmed} confirmed after {}", span(back.elapsed())));
    Ok(())
}

async fn drained_after(world: &World<'_>, start: Instant) -> Result<Duration, Trouble> {
    until("the outbox is drained", PATIENCE, "./dev logs orders", async || {
        let waiting = world.books.backlog(Part::Orders, &world.tenant).await?.of_tenant;
        Ok(if waiting == 0 { Ok(start.elapsed()) } else { Err(format!("{waiting} wait")) })
    })
    .await
}

async fn with_status(world: &World<'_>, orders: &[Order], status: &str) -> Result<usize, Trouble> {
    let now = try_join_all(orders.iter().map(|order| world.api.order(order.id))).await?;
    Ok(now.iter().filter(|order| order.status == status).count())
}
