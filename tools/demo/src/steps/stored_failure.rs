//! The processor charges the card and answers 500, and 500 again to whoever asks under the same key: so its books are
//! searched, and the charge is found.

use serde_json::json;

use crate::report::{Step, euros};
use crate::trouble::Trouble;
use crate::world::{Taken, VISA, World};

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let rules = json!([
        {"kinds": ["error_after"], "route": "POST /v1/payment_intents", "times": 1},
        // Else its news would make the question needless.
        {"kinds": ["late_webhook"], "delay_ms": 5000},
    ]);
    let (order, failed) = world
        .with_faults(&rules, async || {
            let placed = world.order_tea(VISA, "answered-500").await?;
            step.doing("waiting until the charge is found");
            let order = world.ships(placed.id).await?;
            Ok((order, world.api.bites("error_after").await?))
        })
        .await?;
    let (taken, asked) = (world.taken_for(&order).await?, world.asked_for(&order).await?);

    step.equal("charges answered with 500", 1, failed, "GET /_faults of provider");
    step.equal("how it ended", "confirmed", order.end(), "./dev logs payments");
    let once = Taken { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal("charges in the processor's books", once, taken, "./dev psql provider");
    step.equal("what settled it", "look_up", asked.how, "./dev psql payments");
    step.figure(format!("{failed} charge answered with 500, which is stored under its key"));
    step.figure(format!("found in the processor's books at question {}", asked.times));
    step.figure(format!("{} charge of {}, {}", taken.charges, euros(taken.amount), order.end()));
    Ok(())
}
