//! One order after the other on an idle stack, beside the floor of its path.

use std::time::{Duration, Instant};

use harness::orders::Order;
use harness::{Error, Part, Request, Result};
use uuid::Uuid;

use super::cost::Usage;
use super::floor::Floor;
use crate::load::{Load, as_f64, median};
use crate::report::Section;
use crate::subjects::orders::Client;
use crate::subjects::stack::{LIMIT, Stack};
use crate::workload::Workload;

/// The pause between two reads of an order.
const PAUSE: Duration = Duration::from_millis(2);

/// Orders that go first and are not measured.
const WARM_UP: usize = 10;

/// Follows each order to its confirmation before the next one is placed. Orders and floor are measured in turn, and a ratio is
/// taken within a round.
pub(super) async fn measure(stack: &Stack<'_>, workload: &Workload, section: &mut Section) -> Result<()> {
    let mut floor = Floor::prepare(stack).await?;
    let mut client = stack.client(Part::ORDERS).await?;
    for _ in 0..WARM_UP {
        journey(&mut client).await?;
    }
    let (mut orders, mut walks, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..workload.rounds {
        let (mut its_orders, mut its_walks) = (Vec::new(), Vec::new());
        // The server closes a connection that is idle during the floor of the last round.
        client = stack.client(Part::ORDERS).await?;
        for _ in 0..workload.journeys / workload.rounds {
            its_orders.push(journey(&mut client).await?);
        }
        stack.at_rest().await?;
        floor.reconnect(stack).await?;
        for _ in 0..its_orders.len() {
            its_walks.push(floor.walk().await?);
        }
        orders.extend(&its_orders);
        walks.extend(&its_walks);
        ratios.push(load(its_orders).p50 / load(its_walks).p50);
    }
    let before = Usage::of(stack).await?;
    for _ in 0..walks.len() {
        floor.walk().await?;
    }
    Usage::of(stack).await?.report(&before, as_f64(walks.len()), "journey.floor", section);
    let (orders, walks) = (load(orders), load(walks));
    eprintln!("journey: confirmed after {:.1} ms (p50), {:.1} ms (p99)", orders.p50, orders.p99);
    section.at_most("journey.to_floor", median(ratios), 1.5);
    section.figure("journey.p50_ms", orders.p50);
    section.figure("journey.p99_ms", orders.p99);
    section.figure("journey.floor_p50_ms", walks.p50);
    Ok(())
}

fn load(took: Vec<Duration>) -> Load {
    let elapsed = took.iter().sum();
    Load::of(took, elapsed)
}

/// From before the POST until the first GET that shows confirmed. Returns once the order has shipped, because the rest of an
/// order would slow the next one down.
async fn journey(client: &mut Client) -> Result<Duration> {
    let start = Instant::now();
    let response = client.place(Uuid::new_v4()).await?;
    response.read::<Order>(201)?;
    let order = response.header("Location").unwrap_or_default();
    read_until(client, order, |body| body.contains(r#""status":"confirmed""#)).await?;
    let took = start.elapsed();
    read_until(client, &format!("{order}/timeline"), |body| body.contains("StockShipped")).await?;
    Ok(took)
}

/// Reads a path of orders again and again, until its body is as expected.
async fn read_until(client: &mut Client, path: &str, is_expected: fn(&str) -> bool) -> Result<()> {
    let (start, request) = (Instant::now(), Request::get(Part::ORDERS, path));
    loop {
        let response = client.send(&request).await?;
        let body = String::from_utf8_lossy(&response.body);
        if is_expected(&body) {
            return Ok(());
        }
        if response.status != 200 || start.elapsed() > LIMIT {
            return Err(Error::Refused(format!("an order did not go on: {path} showed {body}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
