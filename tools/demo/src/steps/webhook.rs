//! The processor tells the same thing ten times at once, and somebody who is not the processor tells something else:
//! the first is stored once and leads to one question, the other leads to nothing.

use serde_json::{Value, json};

use crate::api::Order;
use crate::crowd::at_once;
use crate::part::Part;
use crate::report::Step;
use crate::signature;
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, Taken, VISA, World};

const TIMES: usize = 10;
const KIND: &str = "payment_intent.succeeded";
const LOOK: &str = "./dev logs payments";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    // Its own deliveries come after ours, and are copies, too.
    let rules = json!([{"kinds": ["late_webhook"], "delay_ms": 8000}]);
    let order = world
        .with_faults(&rules, async || world.ships(world.order_tea(VISA, "told-ten-times").await?.id).await)
        .await?;
    step.equal("how it ended", "confirmed", order.end(), LOOK);
    let payment = order.payment_id.unwrap_or_default();
    until("everything is posted", PATIENCE, LOOK, async || {
        let postings = world.books.postings(payment).await?;
        Ok(if postings == ["capture", "confirmation", "fee"] { Ok(()) } else { Err(format!("{postings:?}")) })
    })
    .await?;
    let event = world.api.event(KIND, payment).await?.unwrap_or_default();
    let before = effects(world, &order, &event).await?;
    step.equal("how often it is stored by now", 0, before.stored, "./dev psql payments");

    let (body, time) = (event.to_string(), event["created"].as_i64().unwrap_or_default());
    let header = signature::header(&world.stack.around.webhook_secret(), time, &body);
    let api = world.api.with_connections(TIMES, Part::Payments, "/v1/payments?limit=1").await?;
    let answers = at_once(TIMES, async |_| api.tell(&body, &header).await).await?;
    let taken = answers.iter().filter(|(answer, _)| answer.status == 200).count();
    step.equal("answers with 200", TIMES, taken, LOOK);

    step.doing("waiting until the processor is asked");
    let after = until("the processor is asked", PATIENCE, LOOK, async || {
        let (now, open) = (effects(world, &order, &event).await?, world.books.unsettled().await?);
        Ok(if now.asked > before.asked && open == 0 { Ok(now) } else { Err(format!("{now:?}")) })
    })
    .await?;
    let expected = Effects { stored: 1, asked: before.asked + 1, ..before.clone() };
    step.equal("what follows from it", &expected, &after, "./dev psql payments");
    step.figure(format!("{taken} copies of one event at once, stored {} time", after.stored));
    step.figure(format!("{} question to the processor, no second effect", after.asked - before.asked));
    forged(world, step, event).await
}

/// What an event can lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Effects {
    /// Rows with the event's id.
    stored: i64,
    /// Questions to the processor about the payment.
    asked: i64,
    postings: Vec<String>,
    told: i64,
    taken: Taken,
}

async fn effects(world: &World<'_>, order: &Order, event: &Value) -> Result<Effects, Trouble> {
    let payment = order.payment_id.unwrap_or_default();
    Ok(Effects {
        stored: world.books.webhook_events(event["id"].as_str().unwrap_or_default()).await?,
        asked: world.books.asked(payment).await?.times,
        postings: world.books.postings(payment).await?,
        told: world.books.told_of(payment).await?,
        taken: world.taken_for(order).await?,
    })
}

/// Well formed, and of somebody who does not know the secret.
async fn forged(world: &World<'_>, step: &mut Step<'_>, mut event: Value) -> Result<(), Trouble> {
    const ID: &str = "evt_forged";
    event["id"] = json!(ID);
    let (body, time) = (event.to_string(), event["created"].as_i64().unwrap_or_default());
    let refused = world.api.tell(&body, &signature::header("whsec_of_somebody_else", time, &body)).await?;
    let expected = (400, "webhook-refused".to_owned());
    step.equal("the answer to a forged one", expected, (refused.status, refused.code()), LOOK);
    step.equal("rows of a forged one", 0, world.books.webhook_events(ID).await?, "./dev psql payments");
    step.figure(format!("a forged one: {} {}", refused.status, refused.code()));
    Ok(())
}
