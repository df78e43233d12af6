//! The last line of the page: the state of the order, its stock and its money, the first obstacle, and the command that helps.

use super::facts::{Facts, ReadRows};
use super::line::{money, shown};
use super::obstacle::{Obstacle, first};
use super::orders::{OrderFacts, OrderRow};

/// The status of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderStatus {
    pub(crate) text: String,
    /// The command that helps. The operator fills in name and reason.
    pub(crate) cure: Option<String>,
}

impl OrderStatus {
    pub(crate) fn of(facts: &Facts) -> Self {
        let state = state(facts);
        let Some(Obstacle { what, cure }) = first(facts) else {
            return Self { text: state, cure: None };
        };
        Self { text: format!("{state}; {what}"), cure }
    }
}

/// The order's state, its stock and its money.
fn state(facts: &Facts) -> String {
    let order = match &facts.order {
        ReadRows::Rows(OrderFacts { order, .. }) => order,
        ReadRows::Nothing => {
            return format!("orders has no such order; {}, {}", stock(facts, ""), charged(facts));
        }
        ReadRows::Unread => {
            return format!("the order's state is unread; {}, {}", stock(facts, ""), charged(facts));
        }
    };
    match (order.state.as_str(), order.cancel_reason.as_deref()) {
        ("confirmed", _) => format!("confirmed, {}, {}", stock(facts, "shipped"), charged(facts)),
        ("cancelled", reason) => {
            let reason = reason.unwrap_or("?");
            format!("cancelled ({reason}), {}, {}", stock(facts, "released"), charged(facts))
        }
        ("pending", _) => open(order, "waits for inventory"),
        ("awaiting_payment", _) => open(order, "waits for payments"),
        (other, _) => other.to_owned(),
    }
}

fn open(order: &OrderRow, waits: &str) -> String {
    let until = shown(order.expires_at);
    let end = if order.is_overdue { "should have expired at" } else { "expires at" };
    format!("open: {waits}, {end} {until}")
}

/// The state of the reservation. `end` is the state that it has once the order is settled.
fn stock(facts: &Facts, end: &str) -> String {
    match &facts.stock {
        ReadRows::Unread => "stock unread".to_owned(),
        ReadRows::Nothing => "no stock reserved".to_owned(),
        ReadRows::Rows(rows) if rows.reservation.state == end => end.to_owned(),
        ReadRows::Rows(rows) => format!("stock {}", rows.reservation.state),
    }
}

/// The money that was taken and returned, by our books.
fn charged(facts: &Facts) -> String {
    let rows = match &facts.money {
        ReadRows::Unread => return "money unread".to_owned(),
        ReadRows::Nothing => return "nothing charged".to_owned(),
        ReadRows::Rows(rows) => rows,
    };
    let amount = |minor: i64| money(minor, &rows.payment.currency);
    match rows.payment.state.as_str() {
        "captured" => {
            let returned = rows.refunded(|state| state == "succeeded");
            let under_way = rows.refunded(|state| matches!(state, "pending" | "unknown"));
            let part = |minor: i64, word| (minor > 0).then(|| format!("{} {word}", amount(minor)));
            let captured = part(rows.payment.amount, "captured");
            let parts = [captured, part(returned, "refunded"), part(under_way, "being refunded")];
            parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
        }
        "declined" => "card declined, nothing charged".to_owned(),
        "cancelled" => "payment cancelled, nothing charged".to_owned(),
        other => format!("payment {other}"),
    }
}
