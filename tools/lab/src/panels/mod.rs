//! Reads what the panels show, from public interfaces alone: HTTP, `/metrics` and `./dev`.
//!
//! A round reads all sources at once, for two seconds at most, so a part that is away delays no other panel for longer.

mod money;
mod orders;
mod parts;
mod services;
mod topics;

use std::time::{Duration, Instant};

use tokio::join;
use tokio::time::sleep;

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
        let begun = Instant::now();
        // The payments of the round before, so that the provider's books need not wait for orders.
        let payments = lab.state.borrow().orders.value().map(Orders::payments).unwrap_or_default();
        let (parts, services, orders, ledger, charges, rules) = join!(
            parts::read(lab),
            services::read(lab),
            Source::look("orders", orders::read(lab)),
            Source::look("payments", money::ledger(lab)),
            Source::look("provider", money::charges(lab, &payments)),
            Source::look("provider", fault::rules(lab)),
        );
        lab.state.send_modify(|state| {
            state.parts = parts;
            state.services = services;
            state.orders = orders;
            state.ledger = ledger;
            state.charges = charges;
            state.armed_at = fault::still_armed(state.armed_at, begun, &state.parts);
            state.faults = fault::states(&state.parts, state.armed_at.is_some(), &rules);
        });
        sleep(PAUSE).await;
    }
}
