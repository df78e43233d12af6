//! A relay and a consumer are frozen until everybody takes them for dead, and then go on where they were: what they
//! still do is refused, or is a duplicate.

use std::time::Instant;

use crate::part::Part;
use crate::report::{Step, span};
use crate::traffic::Traffic;
use crate::trouble::Trouble;
use crate::world::World;

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let (relay, epoch) = world.active_relay(Part::Orders).await?;
    let consumer = Part::Payments.instance(2);
    let repeats = world.delivery().await?.repeats();
    step.doing("orders keep coming");
    let traffic = Traffic::during(world, "paused", async |traffic| {
        let paused = Instant::now();
        world.stack.pause(&[relay, consumer]).await?;
        step.doing("waiting until the others have taken over");
        let (successor, next) = world.relay_after(Part::Orders, epoch).await?;
        step.equal("the epoch", epoch + 1, next, "./dev psql orders");
        step.figure(format!("{relay} paused, {successor} took over after {}", span(paused.elapsed())));
        // Its session and the leases of its charges run out; what it had taken is done by others.
        let number = traffic.confirmed().await?;
        step.figure(format!(
            "{consumer} paused, {number} orders confirmed without it after {}",
            span(paused.elapsed())
        ));
        world.stack.resume(&[relay, consumer]).await?;
        traffic.grows_by(20).await
    })
    .await?;
    let number = traffic.settle(step).await?;
    world.settled().await?;
    let (holder, _) = world.relay_after(Part::Orders, epoch).await?;
    step.holds("who publishes now", "the successor", holder, holder != relay, "./dev status");
    let delivery = world.delivery().await?;
    step.none("first occurrences in order", &delivery.disordered(), "./dev topics");
    let repeats = delivery.repeats() - repeats;
    step.figure(format!(
        "both resumed, {number} orders confirmed and charged once; messages said twice: {repeats}"
    ));
    Ok(())
}
