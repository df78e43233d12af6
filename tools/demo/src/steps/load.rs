//! The books after a load that another program has sent, such as k6.
//!
//! The clients of the load count the orders that they have responses for. Each order had a key of its own, so as many orders must exist:
//! more would be a second execution, and fewer a lost order or one order under two keys.

use std::time::Duration;

use audits::Sum;
use harness::Result;

use super::audit;
use crate::demo::Demo;
use crate::report::{Step, euros};

/// The longest time that the services may need to end the orders of a load.
const LIMIT: Duration = Duration::from_mins(10);

/// The counts of the clients of a load.
pub(crate) struct Load<'l> {
    /// The tenants. Only the load has sent orders for them.
    pub(crate) tenants: &'l [String],
    /// The keys for which a client got an order.
    pub(crate) accepted: usize,
}

impl Load<'_> {
    /// Waits until nothing is in progress, asks every question of `audits/`, and compares the books with the clients.
    pub(crate) async fn check(&self, demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
        step.progress("waiting until nothing is in progress");
        demo.settled_within(LIMIT).await?;
        audit::questions(demo, step).await?;
        self.orders_and_money(demo, step).await?;
        self.messages(demo, step).await
    }

    async fn orders_and_money(&self, demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
        let settlement = demo.books.settlement().await?;
        let sums: Vec<Sum> = self.tenants.iter().map(|tenant| settlement.sum(tenant)).collect();
        let count = |of: fn(&Sum) -> usize| sums.iter().map(of).sum::<usize>();
        let amount = |of: fn(&Sum) -> i64| sums.iter().map(of).sum::<i64>();
        let (orders, captures) = (count(|sum| sum.orders), count(|sum| sum.captures));
        let (confirmed, cancelled) = (count(|sum| sum.confirmed), count(|sum| sum.cancelled));
        let (kept, owed) = (amount(|sum| sum.taken - sum.refunded), amount(|sum| sum.owed));
        step.equal(
            "orders, as many as clients have responses for",
            self.accepted,
            orders,
            "./dev psql orders",
        );
        step.equal("confirmed + cancelled", orders, confirmed + cancelled, "./dev psql orders");
        step.equal("captures of confirmed orders", confirmed, captures, "./dev psql provider");
        step.equal("taken less refunded", owed, kept, "./dev psql provider");
        step.detail(format!("orders     {orders} = {confirmed} confirmed + {cancelled} cancelled"));
        step.detail(format!("money      {} taken and kept, which the confirmed orders cost", euros(kept)));
        Ok(())
    }

    async fn messages(&self, demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
        let (mut rows, mut repeats) = (0, 0);
        for tenant in self.tenants {
            let delivery = demo.books.delivery(&demo.kafka, tenant).await?;
            step.no_violations("committed is published", &delivery.unpublished(), "./dev topics");
            step.no_violations("first occurrences in order", &delivery.disordered(), "./dev topics");
            step.no_violations("each consumer has entered each", &delivery.unconsumed(), "./dev psql orders");
            rows += delivery.rows();
            repeats += delivery.repeats();
        }
        step.detail(format!("messages   {rows} committed and published, {repeats} repeats on the topics"));
        Ok(())
    }
}
