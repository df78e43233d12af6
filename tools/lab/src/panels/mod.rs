//! Reads what the panels show, from public interfaces alone: HTTP, `/metrics` and `./dev`.
//!
//! A round reads all sources at once and waits for each two seconds at most, so a part that is away delays no other panel for
//! longer.

mod money;
mod orders;
mod parts;
mod services;
mod topics;

use std::time::Duration;

use futures_util::future::{join, join5};

use crate::fault;
use crate::lab::Lab;
use crate::state::Source;

pub(crate) use money::{ChargeTotals, Ledger};
pub(crate) use orders::Orders;
pub(crate) use services::ServiceFigures;
pub(crate) use topics::watch as watch_topics;

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads all panels but the topics, round after round.
pub(crate) async fn watch(lab: &Lab) {
    loop {
        let reads = join5(
            parts::read(lab),
            services::read(lab),
            Source::look("orders", orders::read(lab)),
            Source::look("payments", money::ledger(lab)),
            Source::look("provider", fault::rules(lab)),
        );
        let (parts, services, orders, ledger, rules) = reads.await;
        let payments = orders.value().map(Orders::payments).unwrap_or_default();
        let (charges, ()) =
            join(Source::look("provider", money::charges(lab, &payments)), tokio::time::sleep(PAUSE)).await;
        lab.state.send_modify(|state| {
            state.parts = parts;
            state.services = services;
            state.orders = orders;
            state.ledger = ledger;
            state.charges = charges;
            state.faults = fault::states(&state.parts, state.is_armed, &rules);
        });
    }
}
