//! Pricing: from a request and the catalogue to an order that has a total.

use std::collections::BTreeMap;

use contracts::events::OrderLine;
use contracts::{Money, OrderId, Sku};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is wished for.
#[derive(Debug, Clone, Copy)]
pub struct Place<'w> {
    /// Items and quantities; each SKU once.
    pub lines: &'w [OrderLine],
    /// What the customer was shown, if the client says so.
    pub expected_total: Option<Money>,
}

/// What the catalogue says about one SKU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price(pub Money);

/// A line with the price that it was placed at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacedLine {
    /// Which item.
    pub sku: Sku,
    /// How many.
    pub quantity: i64,
    /// The price of one, when the order was placed.
    pub unit_price: Money,
}

/// A priced order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its id, made here.
    pub id: OrderId,
    /// Its lines, in the order of the request.
    pub lines: Vec<PlacedLine>,
    /// What it costs: between 1 and [`Money::MAX`].
    pub total: Money,
}

/// Why an order cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The catalogue does not know these. It follows inventory within moments.
    ItemUnknown(Vec<Sku>),
    /// The items are priced in different currencies.
    CurrencyMixed,
    /// The total is not what the customer was shown.
    PriceChanged {
        /// What it would cost now.
        total: Money,
    },
    /// More than [`Money::MAX`].
    TotalTooLarge,
}

/// Prices a request.
pub fn place(request: Place<'_>, prices: &BTreeMap<Sku, Price>) -> Result<Placed, Rejection> {
    let unknown: Vec<Sku> = request
        .lines
        .iter()
        .map(|line| &line.sku)
        .filter(|sku| !prices.contains_key(*sku))
        .cloned()
        .collect();
    if !unknown.is_empty() {
        return Err(Rejection::ItemUnknown(unknown));
    }
    let lines: Vec<PlacedLine> = request
        .lines
        .iter()
        .filter_map(|line| {
            let Price(unit_price) = *prices.get(&line.sku)?;
            Some(PlacedLine { sku: line.sku.clone(), quantity: line.quantity, unit_price })
        })
        .collect();
    let total = total(&lines)?;
    match request.expected_total {
        Some(expected) if expected != total => Err(Rejection::PriceChanged { total }),
        _ => Ok(Placed { id: OrderId::generate(), lines, total }),
    }
}

fn total(lines: &[PlacedLine]) -> Result<Money, Rejection> {
    let mut total: Option<Money> = None;
    for line in lines {
        let cost = line.unit_price.checked_mul(line.quantity).ok_or(Rejection::TotalTooLarge)?;
        total = Some(match total {
            None => cost,
            Some(sum) if sum.currency != cost.currency => return Err(Rejection::CurrencyMixed),
            Some(sum) => sum.checked_add(cost).ok_or(Rejection::TotalTooLarge)?,
        });
    }
    total.filter(|total| total.amount <= Money::MAX).ok_or(Rejection::TotalTooLarge)
}

#[cfg(test)]
mod tests {
    use contracts::Currency;

    use super::*;

    fn sku(name: &str) -> Sku {
        name.parse().unwrap()
    }

    fn line(name: &str, quantity: i64) -> OrderLine {
        OrderLine { sku: sku(name), quantity }
    }

    fn prices(of: &[(&str, i64, Currency)]) -> BTreeMap<Sku, Price> {
        of.iter().map(|(name, amount, currency)| (sku(name), Price(Money::new(*amount, *currency)))).collect()
    }

    fn try_place(
        lines: &[OrderLine],
        expected_total: Option<Money>,
        prices: &BTreeMap<Sku, Price>,
    ) -> Result<Money, Rejection> {
        place(Place { lines, expected_total }, prices).map(|placed| placed.total)
    }

    #[test]
    fn the_total_is_the_sum_of_the_lines() {
        let prices = prices(&[("a", 450, Currency::Eur), ("b", 1, Currency::Eur)]);
        let lines = [line("a", 2), line("b", 3)];
        assert_eq!(try_place(&lines, None, &prices), Ok(Money::new(903, Currency::Eur)));
        assert_eq!(
            try_place(&lines, Some(Money::new(903, Currency::Eur)), &prices),
            Ok(Money::new(903, Currency::Eur))
        );
    }

    #[test]
    fn what_cannot_be_priced_is_rejected_with_the_reason() {
        let prices = prices(&[
            ("a", 450, Currency::Eur),
            ("u", 1, Currency::Usd),
            ("dear", Money::MAX, Currency::Eur),
            ("max", i64::MAX, Currency::Eur),
        ]);
        let total = Money::new(450, Currency::Eur);
        let cases = [
            (vec![line("a", 1), line("x", 1)], None, Rejection::ItemUnknown(vec![sku("x")])),
            (vec![line("a", 1), line("u", 1)], None, Rejection::CurrencyMixed),
            (vec![line("a", 1)], Some(Money::new(449, Currency::Eur)), Rejection::PriceChanged { total }),
            (vec![line("a", 1)], Some(Money::new(450, Currency::Usd)), Rejection::PriceChanged { total }),
            (vec![line("dear", 2)], None, Rejection::TotalTooLarge),
            (vec![line("dear", 1), line("a", 1)], None, Rejection::TotalTooLarge),
            (vec![line("max", 10_000)], None, Rejection::TotalTooLarge),
        ];
        for (lines, expected, rejection) in cases {
            assert_eq!(try_place(&lines, expected, &prices), Err(rejection));
        }
    }
}
