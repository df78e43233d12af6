//! The end of each order of a scenario, and its time, as the databases show them.

use harness::{Context, Error, Part, Result};

use super::placer::Produced;
use crate::subjects::stack::Stack;

/// From the entry of a placed order to the entry of its end, by the database's clock, in milliseconds: of the hot tenant, of the
/// others, and over all orders (the group is null). `$2` is the hot tenant.
const TIMES: &str = "WITH ended AS ( \
       SELECT CASE placed.tenant_id WHEN $2 THEN 'hot' ELSE 'others' END AS name, \
              1000 * extract(epoch FROM final.at - placed.at)::float8 AS took \
         FROM order_timeline placed JOIN order_timeline final USING (order_id) \
        WHERE placed.what = 'OrderPlaced' AND final.what IN ('OrderConfirmed', 'OrderCancelled') \
          AND extract(epoch FROM placed.at)::float8 >= $1) \
     SELECT name, percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY took) \
       FROM ended GROUP BY GROUPING SETS ((), (name))";

/// The times of a scenario's orders, in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The p99 of the slower group, divided by that of the faster one.
    pub(super) slowest_to_fastest: f64,
}

/// The times of the orders that were placed since then.
pub(super) async fn times(stack: &Stack<'_>, since: f64) -> Result<Times> {
    let hot = stack.environment.tenants().first().map_or("", |(name, _)| name.as_str());
    let owner = stack.database(Part::ORDERS)?.owner().await?;
    let rows = owner.query(TIMES, &[&since, &hot]).await;
    let (mut all, mut groups) = (None, Vec::new());
    for row in rows.context("read the times of orders")? {
        let [p50, p99] = row.get::<_, Vec<f64>>(1).try_into().map_err(|_| none())?;
        match row.get::<_, Option<String>>(0) {
            Some(_) => groups.push(p99),
            None => all = Some((p50, p99)),
        }
    }
    let (p50, p99) = all.ok_or_else(none)?;
    let slowest = groups.iter().copied().fold(f64::NAN, f64::max);
    let fastest = groups.iter().copied().fold(f64::NAN, f64::min);
    Ok(Times { p50, p99, slowest_to_fastest: slowest / fastest })
}

fn none() -> Error {
    Error::Refused("no order of the scenario has ended".to_owned())
}

/// The sums over all orders so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tally {
    confirmed: i64,
    cancelled: i64,
    charges: i64,
    pieces: i64,
    reserved: i64,
    parked: i64,
}

impl Tally {
    /// Reads the databases. Nothing may be in progress.
    pub(super) async fn read(stack: &Stack<'_>) -> Result<Self> {
        let books = stack.books();
        let mut parked = 0;
        for part in Part::SERVICES {
            parked += books.count(part, "SELECT count(*) AS count FROM inbox_parked").await?;
        }
        let orders = async |condition: &str| {
            let query = format!("SELECT count(*) AS count FROM orders WHERE {condition}");
            books.count(Part::ORDERS, &query).await
        };
        let stock = async |column: &str| {
            let query = format!("SELECT coalesce(sum({column}), 0)::bigint AS count FROM item");
            books.count(Part::INVENTORY, &query).await
        };
        Ok(Self {
            confirmed: orders("state = 'confirmed'").await?,
            cancelled: orders("state = 'cancelled'").await?,
            charges: books
                .count(Part::PROVIDER, "SELECT count(*) AS count FROM charge WHERE amount_captured > 0")
                .await?,
            pieces: stock("on_hand").await?,
            reserved: stock("reserved").await?,
            parked,
        })
    }

    /// The sums that these orders must add up to.
    fn after(&self, produced: Produced) -> Self {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let confirmed = number(produced.orders);
        Self {
            confirmed: self.confirmed + confirmed,
            cancelled: self.cancelled,
            charges: self.charges + confirmed,
            pieces: self.pieces - 2 * confirmed,
            reserved: self.reserved,
            parked: self.parked + number(produced.poison),
        }
    }

    /// Fails unless the databases show what these orders must have come to, and every promise about stock and money is kept.
    pub(super) async fn check(&self, stack: &Stack<'_>, produced: Produced) -> Result<()> {
        let (expected, seen) = (self.after(produced), Self::read(stack).await?);
        if seen != expected {
            return Err(Error::Refused(format!("the scenario ended with {seen:?} instead of {expected:?}")));
        }
        let violations = stack.books().settlement().await?.violations();
        if violations.is_empty() { Ok(()) } else { Err(Error::Refused(violations.join("\n"))) }
    }
}
