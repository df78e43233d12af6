//! Orders at fixed rates of arrival: the time of the POST, and the time to the confirmation.

use harness::{Context, Error, Part, Result};

use super::cost::Usage;
use crate::load::open_loop;
use crate::report::Section;
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

/// Measures each rate for the length of a round.
pub(super) async fn measure(stack: &Stack<'_>, workload: &Workload, section: &mut Section) -> Result<()> {
    let owner = stack.database(Part::ORDERS)?.owner().await?;
    for per_second in RATES {
        let placers = stack.placers(CONNECTIONS).await?;
        let since = owner.now().await?;
        let before = Usage::of(stack).await?;
        let (post, _) = open_loop(placers, per_second, workload.length).await?;
        stack.orders_confirmed().await?;
        let after = Usage::of(stack).await?;
        let times = owner.query_one(TIMES, &[&since]).await.context("read the times of orders")?;
        let times: Vec<f64> = times.get(0);
        let times: [f64; 2] =
            times.try_into().map_err(|_| Error::Refused("no order has two times".to_owned()))?;
        let [p50, p99] = times;
        eprintln!("journey: {per_second} orders/s: confirmed after {p50:.0} ms (p50), {p99:.0} ms (p99)");
        let load = format!("journey.at_{per_second}");
        let mut figure = |name, value| section.figure(format!("{load}.{name}"), value);
        figure("post_p50_ms", post.p50);
        figure("post_p99_ms", post.p99);
        figure("confirmed_p50_ms", p50);
        figure("confirmed_p99_ms", p99);
        after.report(&before, post.count, &load, section);
    }
    Ok(())
}
