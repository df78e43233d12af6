//! An item: its name and price, and the arithmetic of its stock.
//!
//! Stock is never negative, and never less than what is reserved: an operation that would break this returns an error.

use contracts::Money;

/// The name and the price of an item: what its version counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemDetails {
    /// The item's name for people.
    pub name: String,
    /// The price of one piece.
    pub unit_price: Money,
}

/// The number of pieces: `0 <= reserved <= on_hand <= MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stock {
    /// Pieces in the warehouse.
    pub on_hand: i64,
    /// Pieces that are held for orders; a part of `on_hand`.
    pub reserved: i64,
}

/// Why an adjustment is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It would remove pieces that are held for orders, or that do not exist.
    Insufficient(Stock),
    /// More than [`Stock::MAX`] pieces would be on hand.
    TooMany(Stock),
}

impl Stock {
    /// The largest number of pieces of one item on hand.
    pub const MAX: i64 = 1_000_000_000_000;

    /// Pieces that can still be reserved.
    pub fn available(self) -> i64 {
        self.on_hand.saturating_sub(self.reserved)
    }

    /// Adds pieces, or removes them if `delta` is negative.
    pub fn adjust(self, delta: i64) -> Result<Self, Rejection> {
        match self.on_hand.checked_add(delta) {
            Some(on_hand) if on_hand < self.reserved => Err(Rejection::Insufficient(self)),
            Some(on_hand) if on_hand <= Self::MAX => Ok(Self { on_hand, ..self }),
            Some(_) | None => Err(Rejection::TooMany(self)),
        }
    }

    /// Reserves pieces; `None` if too few are available.
    pub fn reserve(self, quantity: i64) -> Option<Self> {
        let reserved = self.reserved.checked_add(quantity)?;
        (reserved <= self.on_hand).then_some(Self { reserved, ..self })
    }

    /// Removes reserved pieces from the warehouse; `None` if fewer are reserved.
    pub fn ship(self, quantity: i64) -> Option<Self> {
        let Self { on_hand, reserved } = self.release(quantity)?;
        Some(Self { on_hand: on_hand.checked_sub(quantity)?, reserved })
    }

    /// Makes reserved pieces available again; `None` if fewer are reserved.
    pub fn release(self, quantity: i64) -> Option<Self> {
        let reserved = self.reserved.checked_sub(quantity).filter(|left| *left >= 0)?;
        Some(Self { reserved, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stock(on_hand: i64, reserved: i64) -> Stock {
        Stock { on_hand, reserved }
    }

    #[test]
    fn an_adjustment_takes_only_available_stock() {
        assert_eq!(stock(10, 4).adjust(-6), Ok(stock(4, 4)));
        assert_eq!(stock(10, 4).adjust(-7), Err(Rejection::Insufficient(stock(10, 4))));
        assert_eq!(stock(0, 0).adjust(i64::MIN), Err(Rejection::Insufficient(stock(0, 0))));
    }

    #[test]
    fn an_adjustment_never_exceeds_the_maximum() {
        assert_eq!(stock(Stock::MAX - 1, 0).adjust(1), Ok(stock(Stock::MAX, 0)));
        assert_eq!(stock(Stock::MAX, 0).adjust(1), Err(Rejection::TooMany(stock(Stock::MAX, 0))));
        assert_eq!(stock(1, 0).adjust(i64::MAX), Err(Rejection::TooMany(stock(1, 0))));
    }

    #[test]
    fn only_available_stock_is_reserved() {
        assert_eq!(stock(10, 4).reserve(6), Some(stock(10, 10)));
        assert_eq!(stock(10, 4).reserve(7), None);
        assert_eq!(stock(10, 4).reserve(i64::MAX), None);
    }

    #[test]
    fn only_reserved_stock_ships_or_is_released() {
        assert_eq!(stock(10, 4).ship(4), Some(stock(6, 0)));
        assert_eq!(stock(10, 4).release(4), Some(stock(10, 0)));
        assert_eq!(stock(10, 4).ship(5), None);
        assert_eq!(stock(10, 4).release(5), None);
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Adjust(i64),
        Reserve(i64),
        Ship(i64),
        Release(i64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let quantity = prop_oneof![1..20_i64, Just(i64::MAX)];
        let delta = prop_oneof![-20..20_i64, Just(i64::MIN), Just(i64::MAX), Just(Stock::MAX)];
        let step = prop_oneof![
            delta.prop_map(Step::Adjust),
            quantity.clone().prop_map(Step::Reserve),
            quantity.clone().prop_map(Step::Ship),
            quantity.prop_map(Step::Release),
        ];
        prop::collection::vec(step, 0..40)
    }

    proptest! {
        #[test]
        fn no_history_makes_stock_negative_or_reserves_more_than_is_on_hand(steps in steps()) {
            let mut stock = Stock::default();
            for step in steps {
                let next = match step {
                    Step::Adjust(delta) => stock.adjust(delta).ok(),
                    Step::Reserve(quantity) => stock.reserve(quantity),
                    Step::Ship(quantity) => stock.ship(quantity),
                    Step::Release(quantity) => stock.release(quantity),
                };
                if let Some(next) = next {
                    stock = next;
                }
                prop_assert!(0 <= stock.reserved && stock.reserved <= stock.on_hand && stock.on_hand <= Stock::MAX);
            }
        }

        #[test]
        fn reserving_and_releasing_changes_nothing(on_hand in 0..1000_i64, quantity in 1..1000_i64) {
            let before = stock(on_hand, 0);
            if let Some(held) = before.reserve(quantity) {
                prop_assert_eq!(held.release(quantity), Some(before));
                prop_assert_eq!(held.ship(quantity), Some(stock(on_hand - quantity, 0)));
            }
        }
    }
}
