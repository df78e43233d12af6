//! payments kills itself at a crash point, the worst moment: after a charge.

use harness::{Part, Result};

use crate::demo::Demo;
use crate::report::Step;

/// payments dies after it has read the processor's response and before it stores it: the card is charged once all the same.
pub(super) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until no call to the processor is open");
    // Otherwise an earlier one, such as the lookup of a fee, would meet the crash point.
    demo.settled().await?;
    step.progress("restarting payments with a crash point");
    // Otherwise another instance could take the charge.
    demo.stack.down(&[Part::PAYMENTS]).await?;
    let victim = Part::PAYMENTS.instance(1);
    demo.stack.arm(victim, "charge.response_read:1").await?;
    let placed = demo.order_tea("payments-killed").await?;
    step.progress("waiting until payments is dead");
    let died = demo.stack.dead(victim).await;
    if died.is_err() {
        // The crash point is still active: the next charge would kill the process.
        demo.stack.stop(&[victim]).await?;
    }
    died?;

    let order = demo.api.order(placed.id).await?;
    let before = demo.charged_for(&order).await?;
    step.equal("the order meanwhile", "awaiting_payment", order.outcome(), "./dev psql orders");
    step.equal("charges in the processor's books by then", 1, before.charges, "./dev psql provider");

    step.progress("starting payments again");
    demo.stack.up(&[Part::PAYMENTS]).await?;
    step.progress("waiting until the order is confirmed");
    let ended = demo.ends(placed.id).await?;
    let (after, attempts) = (demo.charged_for(&ended).await?, demo.charge_call_of(&ended).await?.attempts);
    step.equal("the final status", "confirmed", ended.outcome(), "./dev logs payments");
    step.equal("charges in the processor's books", before, after, "./dev psql provider");
    step.check("requests to the processor", "at least 2", attempts, attempts >= 2, "./dev psql payments");
    step.figure(format!("{} charge in the processor's books when payments died", before.charges));
    step.figure(format!("{} after {attempts} requests to the processor", after.charges));
    step.figure(ended.outcome());
    Ok(())
}
