//! Everything is there, and there is something to sell.

use std::time::Duration;

use crate::report::{Step, span};
use crate::stack::Part;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{GOODS, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let mut slowest = Duration::ZERO;
    for part in Part::PROGRAMS {
        let answer = world.api.get(part, "/health/ready").await?;
        slowest = slowest.max(answer.took);
        step.equal(&format!("readiness of {}", part.name()), 200, answer.status, "./dev status");
    }
    let messages: usize = world.kafka.counts().await?.values().sum();
    let ready = Part::PROGRAMS.len();
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
