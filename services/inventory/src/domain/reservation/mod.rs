//! The state machine of a reservation, and the arithmetic of stock over all its lines.
//!
//! An order has at most one reservation. A reservation ends once, as shipped or released.

use std::collections::{BTreeMap, BTreeSet};

use contracts::events::OrderLine;
use contracts::{ItemId, Sku};
use envelope::TenantId;
use strum::{EnumString, IntoStaticStr};
use thiserror::Error;

use super::Stock;

/// Pieces of one item for one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationLine {
    /// The item.
    pub item: ItemId,
    /// The tenant's own name for the item.
    pub sku: Sku,
    /// The number of pieces; at least one.
    pub quantity: i64,
}

impl ReservationLine {
    /// The lines of an order, as `OrderPlaced` has them.
    pub fn from_order(tenant: &TenantId, lines: &[OrderLine]) -> Result<Vec<Self>, Inconsistency> {
        let skus: BTreeSet<&Sku> = lines.iter().map(|line| &line.sku).collect();
        if lines.is_empty() || skus.len() != lines.len() || lines.iter().any(|line| line.quantity < 1) {
            return Err(Inconsistency::OrderLines);
        }
        let line = |line: &OrderLine| Self {
            item: ItemId::of(tenant, &line.sku),
            sku: line.sku.clone(),
            quantity: line.quantity,
        };
        Ok(lines.iter().map(line).collect())
    }
}

/// The state of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The pieces are held for the order.
    Held,
    /// The pieces have left the warehouse. An end.
    Shipped,
    /// The pieces are available again. An end.
    Released,
}

/// The pieces that are, or were, held for an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Held, shipped or released.
    pub state: State,
    /// The lines of the order; they never change.
    pub lines: Vec<ReservationLine>,
}

/// An event of `orders` about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The order was placed, with these lines.
    OrderPlaced(Vec<ReservationLine>),
    /// The order is paid.
    OrderConfirmed,
    /// The order will not be fulfilled.
    OrderCancelled,
}

/// The effect of an input on the reservation of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Reserve these lines: all of them, or none.
    Reserve(Vec<ReservationLine>),
    /// Ship these lines.
    Ship(Vec<ReservationLine>),
    /// Release these lines.
    Release(Vec<ReservationLine>),
    /// Nothing: the reservation reflects the input already, or there is nothing to release.
    NoChange,
}

/// The message contradicts itself or the stored rows. A correct service does not publish it, so it is parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Inconsistency {
    /// An order must have lines, each SKU once, each with a quantity of at least 1.
    #[error("the order has no lines, a line without quantity, or a SKU twice")]
    OrderLines,
    /// An order is confirmed although no stock is held for it.
    #[error("the order is confirmed, but no stock is held for it")]
    NothingHeld,
    /// A reservation holds more of an item than the item has reserved.
    #[error("the reservation holds more than its item has reserved")]
    MoreThanReserved,
}

/// Decides what `input` does to the reservation of an order, or to an order without one.
///
/// Every pair is named: a new state or input does not compile until each of its pairs is.
pub fn decide(reservation: Option<Reservation>, input: Input) -> Result<Decision, Inconsistency> {
    use Decision::{NoChange, Release, Reserve, Ship};
    use Input::{OrderCancelled, OrderConfirmed, OrderPlaced};
    use State::{Held, Released, Shipped};

    let (state, held) = reservation.map_or((None, Vec::new()), |r| (Some(r.state), r.lines));
    match (state, input) {
        (None, OrderPlaced(lines)) => Ok(Reserve(lines)),
        (Some(Held), OrderConfirmed) => Ok(Ship(held)),
        (Some(Held), OrderCancelled) => Ok(Release(held)),

        // The stock was rejected, so nothing is held.
        (None, OrderCancelled) => Ok(NoChange),
        // The reservation has ended.
        (Some(Shipped), OrderConfirmed | OrderCancelled) | (Some(Released), OrderCancelled) => Ok(NoChange),
        // The order has its reservation already.
        (Some(Held | Shipped | Released), OrderPlaced(_)) => Ok(NoChange),

        // `orders` confirms only an order whose stock was reserved, and no order that it has cancelled.
        (None | Some(Released), OrderConfirmed) => Err(Inconsistency::NothingHeld),
    }
}

/// The stock of items, by item.
pub type Stocks = BTreeMap<ItemId, Stock>;

/// Reserves all lines or none. Returns the stock after that, or the SKUs of which too little is available. An item
/// that is not in `stocks` counts as missing.
pub fn reserve(lines: &[ReservationLine], stocks: &Stocks) -> Result<Stocks, Vec<Sku>> {
    let (mut reserved, mut missing) = (Stocks::new(), Vec::new());
    for line in lines {
        match stocks.get(&line.item).and_then(|stock| stock.reserve(line.quantity)) {
            Some(stock) => _ = reserved.insert(line.item, stock),
            None => missing.push(line.sku.clone()),
        }
    }
    if missing.is_empty() { Ok(reserved) } else { Err(missing) }
}

/// The stock after all lines have shipped.
pub fn ship(lines: &[ReservationLine], stocks: &Stocks) -> Result<Stocks, Inconsistency> {
    change_each(lines, stocks, Stock::ship)
}

/// The stock after all lines were released.
pub fn release(lines: &[ReservationLine], stocks: &Stocks) -> Result<Stocks, Inconsistency> {
    change_each(lines, stocks, Stock::release)
}

fn change_each(
    lines: &[ReservationLine],
    stocks: &Stocks,
    change: fn(Stock, i64) -> Option<Stock>,
) -> Result<Stocks, Inconsistency> {
    let changed =
        |line: &ReservationLine| Some((line.item, change(*stocks.get(&line.item)?, line.quantity)?));
    lines.iter().map(|line| changed(line).ok_or(Inconsistency::MoreThanReserved)).collect()
}

#[cfg(test)]
mod tests;
