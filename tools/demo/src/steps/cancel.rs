//! The customer cancels while the card is being charged: the order ends at once, and the money that is captured after
//! that goes back by itself.

use std::time::{Duration, Instant};

use crate::report::{Step, euros, span};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, Taken, World};

/// The processor takes three seconds to charge it.
const SLOW: &str = "pm_card_idem_slow";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let busy_before = world.api.bites(SLOW).await?;
    let placed = world.order_tea(SLOW, "cancelled").await?;
    step.doing("waiting until the processor is charging the card");
    until("the processor is charging the card", Duration::from_secs(20), "./dev logs payments", async || {
        let begun = world.api.bites(SLOW).await? - busy_before;
        Ok(if begun > 0 { Ok(()) } else { Err(format!("{begun} slow charges begun")) })
    })
    .await?;

    let charging = world.api.order(placed.id).await?;
    let cancelled = world.api.cancel(placed.id, "changed my mind").await?;
    let at = Instant::now();
    step.equal("the status while charging", "awaiting_payment", charging.end(), "./dev logs orders");
    step.equal("the answer to cancel", 200, cancelled.status, "./dev logs orders");
    step.equal(
        "what was taken by then",
        Taken::default(),
        world.taken_for(&charging).await?,
        "./dev psql provider",
    );

    step.doing("waiting for the capture, and for the refund");
    let full = order_taken_back(charging.total.amount);
    let taken = until("the late capture is refunded", PATIENCE, "./dev logs payments", async || {
        let taken = world.taken_for(&charging).await?;
        Ok(if taken == full { Ok(taken) } else { Err(format!("{taken:?}")) })
    })
    .await?;
    let after = at.elapsed();
    world.reservation_becomes(placed.id, "released").await?;
    let order = world.api.order(placed.id).await?;
    step.equal("how it ended", "cancelled/customer", order.end(), "./dev logs orders");
    step.figure(format!("{} within {}", order.end(), span(cancelled.took)));
    let Taken { charges, amount, refunded } = taken;
    step.figure(format!(
        "{charges} late capture of {}, {} given back by itself",
        euros(amount),
        euros(refunded)
    ));
    step.figure(format!("{} after the cancellation", span(after)));
    Ok(())
}

/// One charge, all of it given back.
fn order_taken_back(amount: i64) -> Taken {
    Taken { charges: 1, amount, refunded: amount }
}
