//! One order from POST to confirmed: what its client sees, and what the services say meanwhile.

use std::time::{Duration, Instant};

use audits::Said;
use chrono::{DateTime, TimeDelta};
use serde_json::Value;
use uuid::Uuid;

use crate::api::{CommandRequest, Order};
use crate::report::{Step, euros, span};
use crate::trouble::Trouble;
use crate::wait::until;
use crate::world::{PATIENCE, POT, TEA, Taken, VISA, World};

/// The journey, and the status that each message of `orders` stands for.
const JOURNEY: [(&str, &str); 6] = [
    ("orders.OrderPlaced.v1", "pending"),
    ("inventory.StockReserved.v1", ""),
    ("orders.PaymentRequested.v1", "awaiting_payment"),
    ("payments.PaymentCaptured.v1", ""),
    ("orders.OrderConfirmed.v1", "confirmed"),
    ("inventory.StockShipped.v1", ""),
];

/// A status, and how long after the request its client first saw it.
type Sight = (String, Duration);

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    let before = (world.api.stock(TEA).await?.on_hand, world.api.stock(POT).await?.on_hand);
    let wish = CommandRequest { lines: &[(TEA, 2), (POT, 1)], card: VISA, reference: "watched" };

    let (order, sights) = follow(world, &wish).await?;
    let last = sights.last().map(|(status, _)| status.clone()).unwrap_or_default();
    step.equal("the last status", "confirmed", last, "./dev logs");
    if let Some((_, after)) = sights.last() {
        step.figure(format!("confirmed {} after the POST was sent", span(*after)));
    }

    world.reservation_becomes(order.id, "shipped").await?;
    let after = (world.api.stock(TEA).await?.on_hand, world.api.stock(POT).await?.on_hand);
    let left = (before.0 - after.0, before.1 - after.1);
    step.equal("tea and pots that left", (2, 1), left, "GET /v1/items of inventory");
    step.figure(format!("{} pieces left the building", left.0 + left.1));

    let listed = listed_by_processor(world, &order).await?;
    let once = Taken { charges: 1, amount: order.total.amount, refunded: 0 };
    step.equal(
        "the processor's list of payments",
        (1, once.amount),
        listed,
        "GET /v1/payment_intents of provider",
    );
    step.equal("the processor's charges", once, world.taken_for(&order).await?, "./dev psql provider");
    step.figure(format!("{} charge of {} in the processor's books", listed.0, euros(order.total.amount)));

    let said = messages_about(world, order.id).await?;
    tell(step, &said, &sights);
    Ok(())
}

/// Places the order and looks at it all the time until it has ended.
async fn follow(world: &World<'_>, wish: &CommandRequest<'_>) -> Result<(Order, Vec<Sight>), Trouble> {
    let start = Instant::now();
    let mut order: Order = world.api.place(Uuid::new_v4(), &wish.body()).await?.read(201)?;
    let mut sights = vec![(order.status.clone(), start.elapsed())];
    while order.is_open() && start.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(2)).await;
        order = world.api.order(order.id).await?;
        if sights.last().is_some_and(|(status, _)| *status != order.status) {
            sights.push((order.status.clone(), start.elapsed()));
        }
    }
    Ok((order, sights))
}

/// How many payments the processor lists for the order, and how much it has received for them.
async fn listed_by_processor(world: &World<'_>, order: &Order) -> Result<(usize, i64), Trouble> {
    let list = world.api.ask_processor("/v1/payment_intents?limit=100").await?;
    let payment = order.payment_id.map(|id| id.to_string());
    let listed = list["data"].as_array().into_iter().flatten();
    let own = listed.filter(|intent| intent["metadata"]["reference"].as_str() == payment.as_deref());
    let received: Vec<i64> = own.filter_map(|intent: &Value| intent["amount_received"].as_i64()).collect();
    Ok((received.len(), received.iter().sum()))
}

/// All that was said about the order, as soon as all of it is there; in the order of its telling.
async fn messages_about(world: &World<'_>, order: Uuid) -> Result<Vec<Said>, Trouble> {
    until("the order's six messages are on the topics", PATIENCE, "./dev topics", async || {
        let mut said = world.kafka.said(&world.tenant).await?;
        said.retain(|message| message.key == Some(order));
        said.sort_by(|one, other| one.envelope.time.as_str().cmp(other.envelope.time.as_str()));
        Ok(if said.len() >= JOURNEY.len() { Ok(said) } else { Err(format!("{} messages", said.len())) })
    })
    .await
}

/// The journey as a table: times from the database's clock, and beside them when the client saw a status.
fn tell(step: &mut Step<'_>, said: &[Said], sights: &[Sight]) {
    let kinds: Vec<&str> = said.iter().map(|message| message.envelope.kind.as_str()).collect();
    let journey: Vec<&str> = JOURNEY.iter().map(|(kind, _)| *kind).collect();
    step.equal("the order's messages", journey, kinds, "./dev topics");

    let times: Vec<_> =
        said.iter().map(|m| DateTime::parse_from_rfc3339(m.envelope.time.as_str()).ok()).collect();
    for ((message, (_, status)), time) in said.iter().zip(JOURNEY).zip(&times) {
        let since = times.first().copied().flatten().zip(*time).map(|(first, time)| time - first);
        let name = message.envelope.kind.trim_end_matches(".v1").replace('.', "  ");
        let seen = match sights.iter().find(|(seen, _)| seen == status) {
            Some((_, after)) => format!("seen by the client after {}", span(*after)),
            None if status.is_empty() => String::new(),
            None => "passed between two looks of the client".to_owned(),
        };
        let (service, event) = name.split_once("  ").unwrap_or(("", &name));
        let since = since.as_ref().map_or(0, TimeDelta::num_milliseconds);
        step.tell(format!("+{since:>4} ms  {service:<9}  {event:<16}  {status:<16}  {seen}"));
    }
}
