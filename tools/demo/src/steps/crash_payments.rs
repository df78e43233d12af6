//! payments is killed when the processor has charged the card and nothing is recorded yet: after its restart it asks
//! again, under the same key or in the processor's books, and the card is not charged again.

use crate::part::Part;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::{VISA, World};

/// The processor's answer has been read; nothing of it is stored.
const POINT: &str = "charge.response_read:1";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("starting payments so that it will kill itself");
    // Nobody else may take the charge.
    world.stack.down(&[Part::Payments]).await?;
    let victim = Part::Payments.instance(1);
    world.stack.arm(victim, POINT).await?;
    let placed = world.order_tea(VISA, "payments-killed").await?;
    step.doing("waiting until payments is dead");
    let died = world.stack.dead(victim).await;
    if died.is_err() {
        // It is still armed: the next charge would kill it.
        world.stack.stop(&[victim]).await?;
    }
    died?;

    let order = world.api.order(placed.id).await?;
    let before = world.taken_for(&order).await?;
    step.equal("the order, meanwhile", "awaiting_payment", order.end(), "./dev psql orders");
    step.equal("charges in the processor's books by then", 1, before.charges, "./dev psql provider");

    step.doing("starting payments again");
    world.stack.up(&[Part::Payments]).await?;
    step.doing("waiting until the order is confirmed");
    let ended = world.ends(placed.id).await?;
    let (after, attempts) = (world.taken_for(&ended).await?, world.asked_for(&ended).await?.times);
    step.equal("how it ended", "confirmed", ended.end(), "./dev logs payments");
    step.equal("charges in the processor's books", before, after, "./dev psql provider");
    step.holds("questions to the processor", "at least 2", attempts, attempts >= 2, "./dev psql payments");
    step.figure(format!("{} charge in the processor's books when payments died", before.charges));
    step.figure(format!("{} after {attempts} questions to it", after.charges));
    step.figure(ended.end());
    Ok(())
}
