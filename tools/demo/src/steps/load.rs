//! The books after a load that another program has sent, such as k6.
//!
//! The clients of the load count the orders that they have responses for. Each order had a key of its own, so as many orders must exist:
//! more would be a second execution, and fewer a lost order or one order under two keys.

use std::time::Duration;

use harness::Result;

use super::audit;
use crate::demo::Demo;
use crate::report::Step;

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
        let orders = audit::orders(demo, step, self.tenants).await?;
        step.equal(
            "orders, as many as clients have responses for",
            self.accepted,
            orders,
            "./dev psql orders",
        );
        audit::messages(demo, step, self.tenants).await
    }
}
