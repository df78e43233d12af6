//! A consumer is killed and comes back while orders keep coming: its partitions change hands twice, and no order is
//! lost or taken twice.

use std::time::Instant;

use crate::part::Part;
use crate::report::{Step, span};
use crate::traffic::Traffic;
use crate::trouble::Trouble;
use crate::world::World;

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let victim = Part::Inventory.instance(2);
    step.doing("orders keep coming");
    let start = Instant::now();
    let traffic = Traffic::during(world, "rebalanced", async |traffic| {
        world.stack.kill(victim).await?;
        traffic.grows_by(10).await?;
        world.stack.start(&[victim]).await?;
        traffic.grows_by(10).await
    })
    .await?;
    let number = traffic.settle(step).await?;
    step.figure(format!("{victim} killed and started again under {number} orders"));
    step.figure(format!("all of them confirmed and charged once after {}", span(start.elapsed())));
    Ok(())
}
