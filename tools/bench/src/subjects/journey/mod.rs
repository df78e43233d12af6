//! The whole saga: the time of one order on an idle stack, the rate of many orders, and the memory for them.

mod alone;
mod charge;
mod cost;
mod floor;
mod rates;

use std::time::{Duration, Instant};

use contracts::{Currency, Money};
use harness::inventory::{adjust_stock, put_item};
use harness::{Error, Part, Result, until};
use serde_json::Value;
use uuid::Uuid;

use self::cost::Usage;
use super::stack::{LIMIT, Stack};
use crate::environment::Environment;
use crate::load::{as_f64, closed_loop};
use crate::report::Section;
use crate::workload::Workload;

/// Connections that place orders at the same time.
const CONNECTIONS: usize = 16;

/// Measures one order after the other, then many at once, then the restart.
pub(crate) async fn measure(environment: &Environment, workload: &Workload) -> Result<Section> {
    eprintln!("journey: starting all services");
    let mut section = Section::default();
    let mut stack = Stack::start(environment, "journey", &[]).await?;
    put_on_sale(&stack, workload).await?;
    alone::measure(&stack, workload, &mut section).await?;
    let first = crowd(&stack, workload).await?; // its sessions prepare the statements of a crowd
    section.figure("journey.first_crowd_per_second", first.per_second);
    stack.at_rest().await?;
    let before = Usage::of(&stack).await?;
    let crowd = crowd(&stack, workload).await?;
    Usage::of(&stack).await?.report(&before, crowd.orders, "journey", &mut section);
    eprintln!("journey: {:.0} orders/s from POST to the last confirmation", crowd.per_second);
    section.figure("journey.crowd_per_second", crowd.per_second);
    rates::measure(&stack, workload, &mut section).await?;
    for (part, resident) in stack.memory() {
        section.figure(format!("process.{}_resident_mib", part.name()), resident);
    }
    stack.at_rest().await?;
    stack.stop_programs().await?;
    stack.start_programs().await?;
    for (part, ready) in &stack.ready {
        section.figure(format!("process.{}_ready_ms", part.name()), ready.as_secs_f64() * 1e3);
    }
    stack.stop_programs().await?;
    Ok(section)
}

/// Puts tea on sale, delivers it, and waits until orders knows it.
async fn put_on_sale(stack: &Stack<'_>, workload: &Workload) -> Result<()> {
    let mut inventory = stack.client(Part::INVENTORY).await?;
    let price = Money::new(450, Currency::Eur);
    inventory.send(&put_item("TEA", "Green tea", price)).await?.read::<Value>(201)?;
    // An order takes two. Two crowds, and the fixed rates, take less than ten orders for each of these.
    let pieces = i64::try_from(20 * (workload.journeys + workload.crowd)).unwrap_or(i64::MAX);
    inventory.send(&adjust_stock("TEA", pieces)).await?.read::<Value>(201)?;
    let mut orders = stack.client(Part::ORDERS).await?;
    until("orders knows the item", LIMIT, "the log of orders", async || {
        let response = orders.place(Uuid::new_v4()).await?;
        match response.status {
            201 => Ok(Ok(())),
            422 => Ok(Err(response.code())),
            // An unreadable response ends the wait at once.
            status => Err(Error::unreadable("the first order", format!("status {status}"))),
        }
    })
    .await
}

/// Many orders at once.
struct Crowd {
    orders: f64,
    /// From the first POST to the last confirmation.
    per_second: f64,
}

/// Places many orders at once, and waits until they are confirmed.
async fn crowd(stack: &Stack<'_>, workload: &Workload) -> Result<Crowd> {
    let start = Instant::now();
    let (mut placed, mut placers) = (0.0, stack.placers(CONNECTIONS).await?);
    while placed < as_f64(workload.crowd) {
        let (load, again) = closed_loop(placers, Duration::from_millis(100)).await?;
        placed += load.count;
        placers = again;
    }
    stack.orders_confirmed().await?;
    Ok(Crowd { orders: placed, per_second: placed / start.elapsed().as_secs_f64() })
}
