//! The life of a reservation as a table, and its arithmetic over all its lines. Service, model and checkers share it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use contracts::events::OrderLine;
use contracts::{ItemId, Sku, TenantId};

use super::{NotReserved, Stock};

/// So many of one item, for one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which item.
    pub item: ItemId,
    /// What the tenant calls it.
    pub sku: Sku,
    /// How many; at least one.
    pub quantity: i64,
}

impl Line {
    /// The lines of an order, as `orders` tells them.
    pub fn of_order(tenant: &TenantId, lines: &[OrderLine]) -> Result<Vec<Self>, Impossible> {
        let skus: BTreeSet<&Sku> = lines.iter().map(|line| &line.sku).collect();
        if lines.is_empty() || skus.len() != lines.len() || lines.iter().any(|line| line.quantity < 1) {
            return Err(Impossible::Lines);
        }
        let line = |line: &OrderLine| Self {
            item: ItemId::of(tenant, &line.sku),
            sku: line.sku.clone(),
            quantity: line.quantity,
        };
        Ok(lines.iter().map(line).collect())
    }
}

/// Where a reservation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The stock is promised to the order.
    Held,
    /// The stock has left the building.
    Shipped,
    /// The stock is free again.
    Released,
}

/// What an order was promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Where it is.
    pub state: State,
    /// What it is about; never changes.
    pub lines: Vec<Line>,
}

/// What `orders` says about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// It was accepted, with these lines.
    Placed(Vec<Line>),
    /// It is paid.
    Confirmed,
    /// It will not be fulfilled.
    Cancelled,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Hold all of it, or refuse.
    Reserve(Vec<Line>),
    /// Let it leave the building.
    Ship(Vec<Line>),
    /// Set it free.
    Release(Vec<Line>),
    /// Nothing: it is so already, or there is nothing to be done.
    Stay,
}

/// No correct peer says this: the message is put aside for people to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Impossible {
    /// An order has lines, each SKU once, and at least one of each.
    Lines,
    /// An order is confirmed only while its stock is held.
    NothingHeld,
    /// The reservation says that more is held than the item does.
    Mismatch,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines => "the order has no lines, a line without quantity, or a SKU twice",
            Self::NothingHeld => "the order is confirmed, but no stock is held for it",
            Self::Mismatch => "the reservation holds more than its item has reserved",
        })
    }
}

impl std::error::Error for Impossible {}

impl From<NotReserved> for Impossible {
    fn from(_: NotReserved) -> Self {
        Self::Mismatch
    }
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
#[expect(clippy::match_same_arms, reason = "each line of the table has a reason of its own")]
pub fn decide(reservation: Option<Reservation>, input: Input) -> Result<Decision, Impossible> {
    use Decision::{Release, Reserve, Ship, Stay};
    use Input::{Cancelled, Confirmed, Placed};
    use State::{Held, Released, Shipped};

    let (state, held) = reservation.map_or((None, Vec::new()), |r| (Some(r.state), r.lines));
    match (state, input) {
        (None, Placed(lines)) => Ok(Reserve(lines)),
        (Some(Held), Confirmed) => Ok(Ship(held)),
        (Some(Held), Cancelled) => Ok(Release(held)),

        // Nothing is held: the stock was refused.
        (None, Cancelled) => Ok(Stay),
        // What ended stays so.
        (Some(Shipped), Confirmed | Cancelled) | (Some(Released), Cancelled) => Ok(Stay),
        // The same order again.
        (Some(Held | Shipped | Released), Placed(_)) => Ok(Stay),

        // `orders` confirms what was reserved, and never what it has cancelled.
        (None | Some(Released), Confirmed) => Err(Impossible::NothingHeld),
    }
}

/// The stock of the items that a change touches.
pub type Stocks = BTreeMap<ItemId, Stock>;

/// All lines or none: the stock afterwards, or the SKUs of which there is too little. An item without stock, known or
/// not, is missing.
pub fn reserve(lines: &[Line], stocks: &Stocks) -> Result<Stocks, Vec<Sku>> {
    let held: Vec<(&Line, Option<Stock>)> = lines
        .iter()
        .map(|line| (line, stocks.get(&line.item).and_then(|stock| stock.reserve(line.quantity))))
        .collect();
    let missing: Vec<Sku> =
        held.iter().filter(|(_, stock)| stock.is_none()).map(|(line, _)| line.sku.clone()).collect();
    if missing.is_empty() {
        Ok(held.into_iter().filter_map(|(line, stock)| Some((line.item, stock?))).collect())
    } else {
        Err(missing)
    }
}

/// The stock after all of it has left the building.
pub fn ship(lines: &[Line], stocks: &Stocks) -> Result<Stocks, Impossible> {
    each(lines, stocks, Stock::ship)
}

/// The stock after all of it was set free.
pub fn release(lines: &[Line], stocks: &Stocks) -> Result<Stocks, Impossible> {
    each(lines, stocks, Stock::release)
}

fn each(
    lines: &[Line],
    stocks: &Stocks,
    change: fn(Stock, i64) -> Result<Stock, NotReserved>,
) -> Result<Stocks, Impossible> {
    let changed = |line: &Line| {
        let stock = stocks.get(&line.item).ok_or(Impossible::Mismatch)?;
        Ok((line.item, change(*stock, line.quantity)?))
    };
    lines.iter().map(changed).collect()
}

#[cfg(test)]
mod tests;
