//! The metrics of orders that this process counts. `store::readings` reads the open orders from the database.

use ::metrics::{Counters, Families, Registry};
use database::UnitOfWork;

use crate::domain::Status;

/// The families of this service.
#[derive(Debug)]
pub struct OrdersMetrics {
    reached: Counters<Status>,
}

impl Default for OrdersMetrics {
    fn default() -> Self {
        Self { reached: Counters::by("state") }
    }
}

impl Families for OrdersMetrics {
    fn register(&self, registry: &mut Registry) {
        self.reached.register(registry, "orders_reached", "Orders that reached a state");
    }
}

/// Counts an order that has reached this state, once the transaction has committed.
pub(crate) fn count_reached(unit: &mut impl UnitOfWork, state: Status) {
    unit.count_after_commit(move |metrics: &OrdersMetrics| metrics.reached.count(state));
}
