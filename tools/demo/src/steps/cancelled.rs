//! An order that ends as cancelled, because there is too little stock.

use harness::Result;
use harness::orders::{Order, place_order};

use crate::demo::{Demo, TEA, TRUFFLE};
use crate::report::Step;

/// More is ordered than there is: nothing is reserved, and the order names the reason.
pub(crate) async fn no_stock(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let before = (demo.api.stock(TEA).await?, demo.api.stock(TRUFFLE).await?);
    let quantity = before.1.on_hand + 1;
    // There is enough tea. Because a reservation takes all lines or none, the tea must not be reserved either.
    let request = place_order(&[(TEA, 1), (TRUFFLE, quantity)], "no-stock");
    let placed: Order = demo.api.send(&request).await?.read(201)?;
    let order = demo.ends(placed.id).await?;

    step.equal("the final status", "cancelled/rejected", order.outcome(), "./dev logs inventory");
    step.equal("its payment", None, order.payment_id, "./dev psql orders");
    step.equal("its reservation", "none", demo.api.reservation(order.id).await?, "./dev psql inventory");
    let after = (demo.api.stock(TEA).await?, demo.api.stock(TRUFFLE).await?);
    step.equal("the stock", before, after, "./dev psql inventory");
    step.figure(format!("{quantity} ordered, {} on hand: {}", before.1.on_hand, order.outcome()));
    step.figure(format!("{} pieces reserved", after.0.reserved + after.1.reserved));
    Ok(())
}
