//! Every process is ready, and the run has items to sell.

use std::time::Duration;

use harness::inventory::put_item;
use harness::{Instance, Part, Result, until};

use super::of_services;
use crate::demo::{Demo, ITEMS};
use crate::report::{Step, span};

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let mut slowest = Duration::ZERO;
    let instances: Vec<Instance> =
        Part::PROGRAMS.into_iter().flat_map(|part| demo.stack.instances(part)).collect();
    for instance in &instances {
        let response = demo.api.get_at(*instance, "/health/ready").await?;
        slowest = slowest.max(response.took);
        step.equal(&format!("readiness of {instance}"), 200, response.status, "./dev status");
    }
    of_services::prepare(demo).await?;
    let messages: usize = demo.kafka.counts().await?.values().sum();
    let ready = instances.len();
    step.figure(format!(
        "{ready} of {ready} processes ready within {}, {messages} messages on the topics",
        span(slowest)
    ));

    let mut delivered = 0;
    for (sku, name, price, pieces) in ITEMS {
        let put = demo.api.send(&put_item(sku, name, price)).await?;
        step.equal("the response to a new item", 201, put.status, "./dev logs inventory");
        let stock = demo.api.deliver(sku, pieces).await?;
        step.equal(&format!("{sku} on hand"), pieces, stock.on_hand, "./dev logs inventory");
        delivered += stock.on_hand;
    }
    // The catalogue of orders follows inventory through Kafka.
    let expected = i64::try_from(ITEMS.len()).unwrap_or_default();
    let condition = "the catalogue has the items";
    let known = until(condition, Duration::from_secs(20), "./dev logs orders", async || {
        let known = demo.catalogue_size().await?;
        Ok(if known == expected { Ok(known) } else { Err(format!("{known} items")) })
    })
    .await?;
    step.figure(format!("{known} items in the catalogue, {delivered} pieces delivered"));
    Ok(())
}
