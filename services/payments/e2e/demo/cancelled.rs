//! Orders that end as cancelled: a declined card, and a cancellation while the card is being charged.

use std::time::{Duration, Instant};

use harness::orders::Order;
use harness::{Result, until};

use super::books::Charged;
use super::euros;
use crate::demo::{Demo, LIMIT, TEA};
use crate::report::{Step, span};

/// The card is declined: the stock is released, and no money is taken.
pub(crate) async fn declined(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    // An order of an earlier step may still be shipped.
    demo.settled().await?;
    let before = demo.api.stock(TEA).await?;
    let placed = demo.order_tea_with("pm_card_chargeDeclined", "declined").await?;
    let order = demo.ends(placed.id).await?;
    step.equal("the final status", "cancelled/declined", order.outcome(), "./dev logs payments");

    demo.reservation_becomes(order.id, "released").await?;
    let (after, charged) = (demo.api.stock(TEA).await?, demo.charged_for(&order).await?);
    step.equal("the stock", before, after, "./dev psql inventory");
    step.equal("the money taken", Charged::default(), charged, "./dev psql provider");
    let charges = demo.books.charges().await?;
    let attempts = charges.iter().filter(|charge| charge.payment() == order.payment_id).count();
    step.equal("charges tried on the card", 1, attempts, "./dev psql provider");
    step.figure(order.outcome());
    step.figure(format!(
        "card charged {attempts} time, {} taken, {} pieces reserved",
        euros(charged.amount),
        after.reserved
    ));
    Ok(())
}

/// The customer cancels while the card is being charged: the order ends at once, and the late capture is refunded.
pub(crate) async fn in_mid_charge(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    /// The processor takes three seconds to charge this card.
    const SLOW: &str = "pm_card_idem_slow";
    let earlier = demo.api.fault_count(SLOW).await?;
    let placed = demo.order_tea_with(SLOW, "cancelled").await?;
    let condition = "the processor is charging the card";
    step.progress("waiting until the processor is charging the card");
    until(condition, Duration::from_secs(20), "./dev logs payments", async || {
        let begun = demo.api.fault_count(SLOW).await? - earlier;
        Ok(if begun > 0 { Ok(()) } else { Err(format!("{begun} slow charges begun")) })
    })
    .await?;

    let charging = demo.api.order(placed.id).await?;
    let cancelled = demo.api.cancel(placed.id).await?;
    let at = Instant::now();
    step.equal("the status during the charge", "awaiting_payment", charging.outcome(), "./dev logs orders");
    step.equal("the response to the cancellation", 200, cancelled.status, "./dev logs orders");
    let taken = demo.charged_for(&charging).await?;
    step.equal("the money taken by then", Charged::default(), taken, "./dev psql provider");

    step.progress("waiting for the capture and its refund");
    let amount = charging.total.amount;
    let refunded = Charged { charges: 1, amount, refunded: amount };
    let charged = demo.charged_becomes(&charging, refunded).await?;
    let after = at.elapsed();
    demo.reservation_becomes(placed.id, "released").await?;
    let order = demo.api.order(placed.id).await?;
    step.equal("the final status", "cancelled/customer", order.outcome(), "./dev logs orders");
    step.figure(format!("{} within {}", order.outcome(), span(cancelled.took)));
    let Charged { charges, amount, refunded } = charged;
    step.figure(format!(
        "{charges} late capture of {}, {} refunded by the service",
        euros(amount),
        euros(refunded)
    ));
    step.figure(format!("{} after the cancellation", span(after)));
    Ok(())
}

impl Demo<'_> {
    /// Waits until the processor's books say this about an order.
    pub(crate) async fn charged_becomes(&self, order: &Order, expected: Charged) -> Result<Charged> {
        until("the late capture is refunded", LIMIT, "./dev logs payments", async || {
            let charged = self.charged_for(order).await?;
            Ok(if charged == expected { Ok(charged) } else { Err(format!("{charged:?}")) })
        })
        .await
    }
}
