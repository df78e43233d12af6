//! The processor charges a card, its answer is lost, and it is away for longer than the order lives: the order ends in
//! time all the same, its stock is set free, and the money goes back once the processor tells that it was taken.

use std::time::Instant;

use serde_json::json;
use uuid::Uuid;

use crate::api::{CommandRequest, Order};
use crate::part::Part;
use crate::report::{Step, euros, span};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, TEA, Taken, VISA, World};

/// How long an order lives here, in seconds: long enough to be charged, and short enough to wait for its end.
const LIFE: u32 = 4;

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let shop = Part::Orders.instance(1);
    step.doing("starting orders so that its orders live for a moment only");
    world.stack.renew(shop, Some(LIFE)).await?;
    let done = late_capture(world, step).await;
    step.doing("starting orders as usual");
    world.stack.renew(shop, None).await?;
    done
}

async fn late_capture(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let rules = json!([
        {"kinds": ["drop_reply"], "route": "POST /v1/payment_intents", "times": 1},
        {"kinds": ["outage"]},
        // Who is away tells nothing either.
        {"kinds": ["late_webhook"], "delay_ms": 1000 * (LIFE + 2)},
    ]);
    let outage = Instant::now();
    let (order, refused) = world
        .with_faults(&rules, async || {
            let order = charged(world, step).await?;
            step.doing("waiting until the order has expired");
            let order = world.ends(order.id).await?;
            world.reservation_becomes(order.id, "released").await?;
            Ok((order, world.api.bites("outage").await?))
        })
        .await?;
    let away = outage.elapsed();
    let look = "./dev logs payments";
    step.equal("how it ended", "cancelled/expired", order.end(), "./dev logs orders");
    let taken = Taken { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal("what is taken by then", taken, world.taken_for(&order).await?, "./dev psql provider");
    step.holds("requests that the outage refused", "at least 1", refused, refused >= 1, look);

    step.doing("waiting for the refund");
    let back = Instant::now();
    let expected = Taken { refunded: taken.amount, ..taken };
    let seen = until("the late capture is refunded", PATIENCE, look, async || {
        let taken = world.taken_for(&order).await?;
        Ok(if taken == expected { Ok(taken) } else { Err(format!("{taken:?}")) })
    })
    .await?;
    step.figure(format!("away for {}, {refused} requests refused", span(away)));
    step.figure(format!("{} and its stock released meanwhile", order.end()));
    step.figure(format!(
        "{} charge of {} found once it was back, {} given back after {}",
        seen.charges,
        euros(seen.amount),
        euros(seen.refunded),
        span(back.elapsed())
    ));
    Ok(())
}

/// Places an order, and waits until its card is charged without anybody here knowing.
async fn charged(world: &World<'_>, step: &Step<'_>) -> Result<Order, Trouble> {
    let wish = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: "outlived" };
    let (start, shop) = (Instant::now(), Part::Orders.instance(1));
    loop {
        step.doing("waiting until the card is charged");
        let placed: Order = world.api.place_at(shop, Uuid::new_v4(), &wish.body()).await?.read(201)?;
        let is_charged = until("the card is charged", PATIENCE, "./dev logs payments", async || {
            let now = world.api.order(placed.id).await?;
            let charged = world.api.bites("drop_reply").await? == 1;
            Ok(if charged || !now.is_open() { Ok(charged) } else { Err(now.end()) })
        })
        .await?;
        // On a machine that is busy starting things it may have expired before: then another.
        if is_charged || start.elapsed() > PATIENCE {
            return Ok(placed);
        }
    }
}
