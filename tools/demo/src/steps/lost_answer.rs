//! The processor charges the card, and its answer never arrives: asking again under the same key tells.

use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::World;

/// Charged; then the connection is dropped without a byte.
const CARD: &str = "pm_card_idem_charged_no_reply";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let before = answers_withheld(world).await?;
    let placed = world.order_tea(CARD, "answer-lost").await?;
    let order = world.ends(placed.id).await?;
    let withheld = answers_withheld(world).await? - before;
    let (taken, attempts) = (world.taken_for(&order).await?, world.attempts(&order).await?);

    step.equal("answers that the processor withheld", 1, withheld, "GET /_faults of provider");
    step.equal("how it ended", "confirmed", order.end(), "./dev logs payments");
    step.equal(
        "charges in the processor's books",
        (1, order.total.amount),
        (taken.charges, taken.amount),
        "./dev psql provider",
    );
    step.holds("attempts", "at least 2", attempts, attempts >= 2, "./dev psql payments");
    step.figure(format!(
        "{withheld} answer withheld, {attempts} attempts under one key, {} charge, {}",
        taken.charges,
        order.end()
    ));
    Ok(())
}

/// How many answers to charges of this card have been withheld.
async fn answers_withheld(world: &World<'_>) -> Result<i64, Trouble> {
    let faults = world.api.ask_processor("/_faults").await?;
    Ok(faults["bites"][CARD].as_i64().unwrap_or_default())
}
