//! The relay that publishes dies before it has written down how far it is: the one that stands by takes over as soon as
//! the lease has run out, and says again what may not have been said.

use std::time::Instant;

use crate::part::Part;
use crate::report::{Step, span};
use crate::traffic::Traffic;
use crate::trouble::Trouble;
use crate::world::World;

/// The broker has acknowledged messages; the cursor is about to be moved over them.
const POINT: &str = "relay.before_checkpoint:1";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let (_, epoch) = world.active_relay(Part::Orders).await?;
    let [victim, successor] = [1, 2].map(|number| Part::Orders.relay(number));
    step.doing("starting a relay so that it will kill itself");
    world.stack.stop(&[victim, successor]).await?;
    world.stack.arm(victim, POINT).await?;
    let (active, epoch) = world.relay_after(Part::Orders, epoch).await?;
    step.equal("the active relay", victim, active, "./dev status");
    world.stack.start(&[successor]).await?;
    let repeats = world.delivery().await?.repeats();

    step.doing("orders keep coming");
    let first = Instant::now();
    let traffic = Traffic::during(world, "relay-killed", async |traffic| {
        let (active, next) = world.relay_after(Part::Orders, epoch).await?;
        let took = first.elapsed();
        step.equal("who took over, and its epoch", (successor, epoch + 1), (active, next), "./dev status");
        step.figure(format!("{victim} killed between publishing and its checkpoint"));
        step.figure(format!("{active} took over {} after the first order", span(took)));
        traffic.confirmed().await.map(drop)
    })
    .await?;
    world.stack.start(&[victim]).await?;
    let number = traffic.settle(step).await?;
    step.figure(format!("{number} orders accepted meanwhile, all confirmed and charged once"));
    let repeats = world.delivery().await?.repeats() - repeats;
    step.holds("messages said twice", "at least 1", repeats, repeats >= 1, "./dev topics");
    step.figure(format!("messages said twice: {repeats}"));
    Ok(())
}
