//! One order after the other on an idle stack, beside the floor of its path.

use std::time::{Duration, Instant};

use harness::api::Order;
use harness::{Error, Part, Request, Result};
use uuid::Uuid;

use super::floor::{self, Floor, Walk};
use crate::load::{Load, median};
use crate::report::{Ratio, Section, Table, number};
use crate::subjects::orders::Client;
use crate::subjects::stack::{LIMIT, Stack};
use crate::workload::Workload;

/// The pause between two reads of an order.
const PAUSE: Duration = Duration::from_millis(2);

/// Orders that go first and are not measured.
const WARM_UP: usize = 10;

/// Orders and floor in turn: a ratio is taken within a round.
pub(super) struct Alone {
    rounds: Vec<(Load, Vec<Walk>)>,
    orders: Load,
}

/// Follows each order to its confirmation before the next one is placed.
pub(super) async fn measure(stack: &Stack<'_>, client: &mut Client, workload: &Workload) -> Result<Alone> {
    let mut floor = Floor::prepare(stack).await?;
    for _ in 0..WARM_UP {
        journey(client).await?;
    }
    let (mut rounds, mut all) = (Vec::new(), Vec::new());
    for _ in 0..workload.rounds {
        let (mut orders, mut walks) = (Vec::new(), Vec::new());
        for _ in 0..workload.journeys / workload.rounds {
            orders.push(journey(client).await?);
        }
        stack.at_rest().await?;
        for _ in 0..orders.len() {
            walks.push(floor.walk().await?);
        }
        all.extend(&orders);
        rounds.push((load(orders), walks));
    }
    let orders = load(all);
    eprintln!("journey: confirmed after {:.1} ms (p50), {:.1} ms (p99)", orders.p50, orders.p99);
    Ok(Alone { rounds, orders })
}

fn load(took: Vec<Duration>) -> Load {
    let elapsed = took.iter().sum();
    Load::of(took, elapsed)
}

/// From before the POST until the first GET that shows confirmed. Returns once the order has shipped, because the rest of an
/// order would slow the next one down.
pub(super) async fn journey(client: &mut Client) -> Result<Duration> {
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
    let (start, request) = (Instant::now(), Request::get(Part::Orders, path));
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

pub(super) fn report(alone: &Alone, section: &mut Section) {
    let Alone { rounds, orders } = alone;
    let ratio = median(rounds.iter().map(|(orders, walks)| orders.p50 / floor::p50_ms(walks)));
    section.ratios.push(Ratio::at_most("POST to confirmed on an idle stack ÷ its floor, p50", ratio, 1.5));
    let mut table = Table::new(
        format!("The whole saga: {:.0} orders one after the other, read every 2 ms", orders.count),
        ["what", "p50 ms", "p99 ms"],
    );
    table.row(["POST to confirmed".to_owned(), number(orders.p50, 1), number(orders.p99, 1)]);
    section.tables.push(table);
    let walks: Vec<Walk> = rounds.iter().flat_map(|(_, walks)| walks).copied().collect();
    floor::report(&walks, section);
    section.figure("journey.p50_ms", orders.p50);
    section.figure("journey.p99_ms", orders.p99);
    section.figure("journey.to_floor", ratio);
}
