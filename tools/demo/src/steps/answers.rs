//! Everything is there, and there is something to sell.

use std::time::Duration;

use crate::part::{Instance, Part};
use crate::report::{Step, span};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{GOODS, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let mut slowest = Duration::ZERO;
    let instances: Vec<Instance> =
        Part::PROGRAMS.into_iter().flat_map(|part| world.stack.instances(part)).collect();
    for instance in &instances {
        let answer = world.api.get_at(*instance, "/health/ready").await?;
        slowest = slowest.max(answer.took);
        step.equal(&format!("readiness of {instance}"), 200, answer.status, "./dev status");
    }
    // A run that was interrupted may have left some.
    world.api.end_faults().await?;
    let messages: usize = world.kafka.counts().await?.values().sum();
    let ready = instances.len();
    step.figure(format!(
        "{ready} of {ready} ready within {}, {messages} messages on the topics",
        span(slowest)
    ));

    let mut delivered = 0;
    for (sku, name, price, count) in GOODS {
        step.equal(
            "putting a new item",
            201,
            world.api.put_item(sku, name, price).await?.status,
            "./dev logs inventory",
        );
        let stock = world.api.adjust(sku, count).await?;
        step.equal(&format!("{sku} on hand"), count, stock.on_hand, "./dev logs inventory");
        delivered += stock.on_hand;
    }
    // The catalogue follows inventory through Kafka.
    let expected = i64::try_from(GOODS.len()).unwrap_or_default();
    let known =
        until("the catalogue has the items", Duration::from_secs(20), "./dev logs orders", async || {
            let known = world.books.in_catalogue(&world.tenant).await?;
            Ok(if known == expected { Ok(known) } else { Err(format!("{known} items")) })
        })
        .await?;
    step.figure(format!("{known} items in the catalogue, {delivered} pieces delivered"));
    Ok(())
}
