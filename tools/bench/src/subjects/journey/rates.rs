//! Orders at fixed rates of arrival: the time of the POST, and the time to the confirmation.

use std::time::Duration;

use harness::{Context, Error, Part, Result};

use super::cost::Usage;
use crate::load::{Load, open_loop};
use crate::report::{Section, Table, number};
use crate::subjects::orders::Placer;
use crate::subjects::stack::Stack;
use crate::workload::Workload;

/// Orders that arrive in a second.
const RATES: [u32; 4] = [25, 100, 200, 300];

/// Connections that place them.
const CONNECTIONS: usize = 64;

/// From the entry of a placed order to the entry of its confirmation, by the database's clock.
const TIMES: &str = "SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP \
        (ORDER BY 1000 * extract(epoch FROM confirmed.at - placed.at)::float8) \
     FROM order_timeline placed JOIN order_timeline confirmed USING (order_id) \
     WHERE placed.what = 'OrderPlaced' AND confirmed.what = 'OrderConfirmed' \
       AND extract(epoch FROM placed.at)::float8 >= $1";

/// One rate.
pub(super) struct AtRate {
    per_second: u32,
    post: Load,
    /// Milliseconds: p50 and p99.
    confirmed: [f64; 2],
    /// Of one order, over all processes but the brokers.
    cpu_us: f64,
}

/// Measures each rate for the length of a round.
pub(super) async fn measure(stack: &Stack<'_>, workload: &Workload) -> Result<Vec<AtRate>> {
    let mut placers = Vec::new();
    for _ in 0..CONNECTIONS {
        placers.push(Placer { client: stack.client(Part::Orders).await?, keys: Vec::new() });
    }
    let mut rates = Vec::new();
    for per_second in RATES {
        let (rate, again) = at_rate(stack, placers, per_second, workload.length).await?;
        let [p50, p99] = rate.confirmed;
        eprintln!("journey: {per_second} orders/s: confirmed after {p50:.0} ms (p50), {p99:.0} ms (p99)");
        placers = again;
        rates.push(rate);
    }
    Ok(rates)
}

pub(super) fn report(rates: &[AtRate], workload: &Workload, section: &mut Section) {
    let mut table = Table::new(
        format!(
            "Orders at fixed rates of arrival, each for {} s, {CONNECTIONS} connections",
            workload.length.as_secs_f64()
        ),
        ["orders/s", "POST p50 ms", "p99 ms", "to confirmed p50 ms", "p99 ms", "µs of CPU an order"],
    );
    for AtRate { per_second, post, confirmed: [p50, p99], cpu_us } in rates {
        table.row([
            per_second.to_string(),
            number(post.p50, 1),
            number(post.p99, 1),
            number(*p50, 0),
            number(*p99, 0),
            number(*cpu_us, 0),
        ]);
        let mut figure = |name, value| section.figure(format!("journey.at_{per_second}.{name}"), value);
        figure("post_p99_ms", post.p99);
        figure("confirmed_p50_ms", *p50);
        figure("confirmed_p99_ms", *p99);
        figure("cpu_us", *cpu_us);
    }
    section.tables.push(table);
}

async fn at_rate(
    stack: &Stack<'_>,
    placers: Vec<Placer>,
    per_second: u32,
    length: Duration,
) -> Result<(AtRate, Vec<Placer>)> {
    let owner = stack.database(Part::Orders)?.owner().await?;
    let since: f64 = owner.one("SELECT extract(epoch FROM clock_timestamp())::float8").await?.get(0);
    let before = Usage::of(stack).await?;
    let (post, placers) = open_loop(placers, per_second, length).await?;
    stack.orders_confirmed().await?;
    let after = Usage::of(stack).await?;
    let times: Vec<f64> = owner.query_one(TIMES, &[&since]).await.context("read the times of orders")?.get(0);
    let confirmed = times.try_into().map_err(|_| Error::Refused("no order has two times".to_owned()))?;
    Ok((AtRate { per_second, post, confirmed, cpu_us: after.cpu_us(&before, post.count) }, placers))
}
