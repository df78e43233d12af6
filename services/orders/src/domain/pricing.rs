//! Prices an order: from requested lines and the catalogue's prices to lines with prices and a total.

use std::collections::BTreeMap;

use contracts::events::OrderLine;
use contracts::{Money, Sku};

/// A line with the price at which it was ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedLine {
    /// The item.
    pub sku: Sku,
    /// The number of pieces.
    pub quantity: i64,
    /// The price of one piece when the order was placed.
    pub unit_price: Money,
}

/// The lines of an order and their sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedOrder {
    /// The lines, in the order of the request.
    pub lines: Vec<PricedLine>,
    /// The sum of all lines: 1 to [`Money::MAX`], in one currency.
    pub total: Money,
}

/// Why an order cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The catalogue has no price for these SKUs.
    ItemUnknown(Vec<Sku>),
    /// The items are priced in different currencies.
    CurrencyMixed,
    /// The total is not the one that the client expects.
    PriceChanged {
        /// The total at the current prices.
        total: Money,
    },
    /// The total is above [`Money::MAX`].
    TotalTooLarge,
}

/// Prices `lines`. Rejects the order if the client expects another total.
pub fn price(
    lines: &[OrderLine],
    prices: &BTreeMap<Sku, Money>,
    expected_total: Option<Money>,
) -> Result<PricedOrder, Rejection> {
    let (mut priced, mut unknown) = (Vec::with_capacity(lines.len()), Vec::new());
    for OrderLine { sku, quantity } in lines {
        match prices.get(sku) {
            Some(&unit_price) => {
                priced.push(PricedLine { sku: sku.clone(), quantity: *quantity, unit_price });
            }
            None => unknown.push(sku.clone()),
        }
    }
    if !unknown.is_empty() {
        return Err(Rejection::ItemUnknown(unknown));
    }
    let total = total(&priced)?;
    match expected_total {
        Some(expected) if expected != total => Err(Rejection::PriceChanged { total }),
        Some(_) | None => Ok(PricedOrder { lines: priced, total }),
    }
}

fn total(lines: &[PricedLine]) -> Result<Money, Rejection> {
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

    fn prices(of: &[(&str, i64, Currency)]) -> BTreeMap<Sku, Money> {
        of.iter().map(|(name, amount, currency)| (sku(name), Money::new(*amount, *currency))).collect()
    }

    fn total_of(
        lines: &[OrderLine],
        expected_total: Option<Money>,
        prices: &BTreeMap<Sku, Money>,
    ) -> Result<Money, Rejection> {
        price(lines, prices, expected_total).map(|order| order.total)
    }

    #[test]
    fn the_total_is_the_sum_of_the_lines() {
        let prices = prices(&[("a", 450, Currency::Eur), ("b", 1, Currency::Eur)]);
        let lines = [line("a", 2), line("b", 3)];
        assert_eq!(total_of(&lines, None, &prices), Ok(Money::new(903, Currency::Eur)));
        assert_eq!(
            total_of(&lines, Some(Money::new(903, Currency::Eur)), &prices),
            Ok(Money::new(903, Currency::Eur))
        );
    }

    #[test]
    fn an_order_that_cannot_be_priced_is_rejected_with_the_reason() {
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
            assert_eq!(total_of(&lines, expected, &prices), Err(rejection));
        }
    }
}
