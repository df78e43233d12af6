//! One order from POST to confirmed: the statuses that its client sees, and the messages of the services.

use std::time::{Duration, Instant};

use audits::TopicMessage;
use chrono::{DateTime, TimeDelta};
use harness::orders::{Order, place_order};
use harness::{Request, Result, until};
use uuid::Uuid;

use super::of_services;
use crate::demo::{Demo, LIMIT, POT, TEA};
use crate::report::{Step, span};

/// The messages of an order, and the status that each message of orders announces.
const JOURNEY: [(&str, &str); 6] = [
    ("orders.OrderPlaced.v1", "pending"),
    ("inventory.StockReserved.v1", ""),
    ("orders.PaymentRequested.v1", "awaiting_payment"),
    ("payments.PaymentCaptured.v1", ""),
    ("orders.OrderConfirmed.v1", "confirmed"),
    ("inventory.StockShipped.v1", ""),
];

/// A status, and how long after the request its client first saw it.
type SeenStatus = (String, Duration);

pub(crate) async fn run(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    let before = (demo.api.stock(TEA).await?.on_hand, demo.api.stock(POT).await?.on_hand);
    let (order, seen) = follow(demo, &place_order(&[(TEA, 2), (POT, 1)], "watched")).await?;
    let last = seen.last().map(|(status, _)| status.clone()).unwrap_or_default();
    step.equal("the last status", "confirmed", last, "./dev logs");
    if let Some((_, after)) = seen.last() {
        step.figure(format!("confirmed {} after the POST was sent", span(*after)));
    }

    demo.reservation_becomes(order.id, "shipped").await?;
    let after = (demo.api.stock(TEA).await?.on_hand, demo.api.stock(POT).await?.on_hand);
    let shipped = (before.0 - after.0, before.1 - after.1);
    step.equal("tea and pots shipped", (2, 1), shipped, "GET /v1/items of inventory");
    step.figure(format!("{} pieces shipped", shipped.0 + shipped.1));

    of_services::confirmed(demo, step, &[order.id]).await?;

    let messages = messages_about(demo, order.id).await?;
    show(step, &messages, &seen);
    Ok(())
}

/// Places the order and reads it until it has ended.
async fn follow(demo: &Demo<'_>, request: &Request) -> Result<(Order, Vec<SeenStatus>)> {
    let start = Instant::now();
    let mut order: Order = demo.api.send(request).await?.read(201)?;
    let mut seen = vec![(order.status.clone(), start.elapsed())];
    while order.is_open() && start.elapsed() < LIMIT {
        tokio::time::sleep(Duration::from_millis(2)).await;
        order = demo.api.order(order.id).await?;
        if seen.last().is_some_and(|(status, _)| *status != order.status) {
            seen.push((order.status.clone(), start.elapsed()));
        }
    }
    Ok((order, seen))
}

/// The messages about the order in the order of their times, as soon as all are on the topics.
async fn messages_about(demo: &Demo<'_>, order: Uuid) -> Result<Vec<TopicMessage>> {
    until("the order's six messages are on the topics", LIMIT, "./dev topics", async || {
        let mut found = demo.kafka.messages(&demo.tenant).await?;
        found.retain(|message| message.key == Some(order));
        found.sort_by(|one, other| one.envelope.time.as_str().cmp(other.envelope.time.as_str()));
        let count = found.len();
        Ok(if count >= JOURNEY.len() { Ok(found) } else { Err(format!("{count} messages")) })
    })
    .await
}

/// The messages as a table: times by the database's clock, and beside them when the client saw the status.
fn show(step: &mut Step<'_>, messages: &[TopicMessage], seen: &[SeenStatus]) {
    let kinds: Vec<&str> = messages.iter().map(|message| message.envelope.kind.as_str()).collect();
    let journey: Vec<&str> = JOURNEY.iter().map(|(kind, _)| *kind).collect();
    step.equal("the messages about the order", journey, kinds, "./dev topics");

    let times: Vec<_> =
        messages.iter().map(|m| DateTime::parse_from_rfc3339(m.envelope.time.as_str()).ok()).collect();
    for ((message, (_, status)), time) in messages.iter().zip(JOURNEY).zip(&times) {
        let since = times.first().copied().flatten().zip(*time).map(|(first, time)| time - first);
        let name = message.envelope.kind.trim_end_matches(".v1").replace('.', "  ");
        let by_client = match seen.iter().find(|(seen, _)| seen == status) {
            Some((_, after)) => format!("seen by the client after {}", span(*after)),
            None if status.is_empty() => String::new(),
            None => "passed between two reads of the client".to_owned(),
        };
        let (service, event) = name.split_once("  ").unwrap_or(("", &name));
        let since = since.as_ref().map_or(0, TimeDelta::num_milliseconds);
        step.detail(format!("+{since:>4} ms  {service:<9}  {event:<16}  {status:<16}  {by_client}"));
    }
}
