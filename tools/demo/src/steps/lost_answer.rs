//! The processor charges the card, and its answer never arrives: asking again under the same key tells.

use serde_json::json;

use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::{Taken, VISA, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let rules = json!([
        {"kinds": ["drop_reply"], "route": "POST /v1/payment_intents", "times": 1},
        // Else its news would be faster than the retry.
        {"kinds": ["late_webhook"], "delay_ms": 1500},
    ]);
    let (order, dropped) = world
        .with_faults(&rules, async || {
            let placed = world.order_tea(VISA, "answer-lost").await?;
            let order = world.ships(placed.id).await?;
            Ok((order, world.api.bites("drop_reply").await?))
        })
        .await?;
    let (taken, asked) = (world.taken_for(&order).await?, world.asked_for(&order).await?);

    step.equal("answers that the processor dropped", 1, dropped, "GET /_faults of provider");
    step.equal("how it ended", "confirmed", order.end(), "./dev logs payments");
    let once = Taken { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal("charges in the processor's books", once, taken, "./dev psql provider");
    let again = asked.times >= 2 && asked.how == "request";
    step.holds("what settled it", "a retry", format!("{asked:?}"), again, "./dev psql payments");
    step.figure(format!(
        "{dropped} answer dropped after the charge, {} attempts under one key, {} charge, {}",
        asked.times,
        taken.charges,
        order.end()
    ));
    Ok(())
}
