//! More is ordered than there is: nothing is held, nothing charged, and the order says why it ended.

use uuid::Uuid;

use crate::api::{CommandRequest, Order};
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::{TEA, TRUFFLE, VISA, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let before = (world.api.stock(TEA).await?, world.api.stock(TRUFFLE).await?);
    let wanted = before.1.on_hand + 1;
    // All or nothing: there is tea enough, and it must not be held either.
    let wish = CommandRequest { lines: &[(TEA, 1), (TRUFFLE, wanted)], card: VISA, reference: "no-stock" };
    let placed: Order = world.api.place(Uuid::new_v4(), &wish.body()).await?.read(201)?;
    let order = world.ends(placed.id).await?;

    step.equal("how it ended", "cancelled/rejected", order.end(), "./dev logs inventory");
    step.equal("its payment", None, order.payment_id, "./dev psql orders");
    step.equal("its reservation", "none", world.api.reservation(order.id).await?, "./dev psql inventory");
    let after = (world.api.stock(TEA).await?, world.api.stock(TRUFFLE).await?);
    step.equal("the stock", before, after, "./dev psql inventory");
    step.figure(format!("{wanted} of {} ordered: {}", before.1.on_hand, order.end()));
    let (reserved, payments) = (after.0.reserved + after.1.reserved, usize::from(order.payment_id.is_some()));
    step.figure(format!("{reserved} pieces reserved, {payments} payments asked for"));
    Ok(())
}
