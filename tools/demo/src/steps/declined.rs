//! The card is declined: the stock is set free, and nothing was taken.

use crate::report::{Step, euros};
use crate::trouble::Trouble;
use crate::world::{TEA, Taken, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let before = world.api.stock(TEA).await?;
    let placed = world.order_tea("pm_card_chargeDeclined", "declined").await?;
    let order = world.ends(placed.id).await?;
    step.equal("how it ended", "cancelled/declined", order.end(), "./dev logs payments");

    world.reservation_becomes(order.id, "released").await?;
    let (after, taken) = (world.api.stock(TEA).await?, world.taken_for(&order).await?);
    step.equal("the stock", before, after, "./dev psql inventory");
    step.equal("what was taken", Taken::default(), taken, "./dev psql provider");
    let charges = world.books.charges().await?;
    let asked = charges.iter().filter(|charge| charge.payment() == order.payment_id).count();
    step.equal("times that the card was asked", 1, asked, "./dev psql provider");
    step.figure(order.end());
    step.figure(format!(
        "card asked {asked} time, {} taken, {} pieces reserved",
        euros(taken.amount),
        after.reserved
    ));
    Ok(())
}
