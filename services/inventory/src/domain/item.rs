//! An item: what the catalogue says about it, and the arithmetic of its stock, which refuses instead of going negative.

use contracts::Money;

/// What the catalogue says about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What people call it.
    pub name: String,
    /// The price of one.
    pub unit_price: Money,
}

impl Entry {
    /// The version after `wished` was put in the place of this entry; `None` if it says the same already.
    pub fn revised(&self, version: i64, wished: &Self) -> Option<i64> {
        (self != wished).then_some(version + 1)
    }
}

/// How many there are, and how many of these are promised: `0 <= reserved <= on_hand <= MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stock {
    /// In the building.
    pub on_hand: i64,
    /// Held for orders; part of `on_hand`.
    pub reserved: i64,
}

/// Why a stock is not adjusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It would take what is not there, or what is held for orders.
    Insufficient(Stock),
    /// There would be more than [`Stock::MAX`].
    TooMany(Stock),
}

/// More should ship or be released than is reserved: a reservation and its item contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotReserved;

impl Stock {
    /// The most that may be on hand of one item.
    pub const MAX: i64 = 1_000_000_000_000;

    /// How many can still be promised.
    pub fn available(self) -> i64 {
        self.on_hand.saturating_sub(self.reserved)
    }

    /// So many more, or fewer: a delivery, a count, a breakage.
    pub fn adjust(self, delta: i64) -> Result<Self, Rejection> {
        match self.on_hand.checked_add(delta) {
            Some(on_hand) if on_hand < self.reserved => Err(Rejection::Insufficient(self)),
            Some(on_hand) if on_hand <= Self::MAX => Ok(Self { on_hand, ..self }),
            Some(_) | None => Err(Rejection::TooMany(self)),
        }
    }

    /// Holds so many; `None` if there are not enough.
    pub fn reserve(self, quantity: i64) -> Option<Self> {
        let reserved = self.reserved.checked_add(quantity)?;
        (reserved <= self.on_hand).then_some(Self { reserved, ..self })
    }

    /// So many of the reserved ones leave the building.
    pub fn ship(self, quantity: i64) -> Result<Self, NotReserved> {
        let Self { on_hand, reserved } = self.release(quantity)?;
        Ok(Self { on_hand: on_hand.checked_sub(quantity).ok_or(NotReserved)?, reserved })
    }

    /// So many of the reserved ones are free again.
    pub fn release(self, quantity: i64) -> Result<Self, NotReserved> {
        let reserved = self.reserved.checked_sub(quantity).filter(|left| *left >= 0).ok_or(NotReserved)?;
        Ok(Self { reserved, ..self })
    }
}

#[cfg(test)]
mod tests {
    use contracts::Currency;
    use proptest::prelude::*;

    use super::*;

    fn stock(on_hand: i64, reserved: i64) -> Stock {
        Stock { on_hand, reserved }
    }

    #[test]
    fn an_entry_that_says_the_same_is_no_new_version() {
        let entry =
            |name: &str, amount| Entry { name: name.into(), unit_price: Money::new(amount, Currency::Eur) };
        assert_eq!(entry("tea", 450).revised(3, &entry("tea", 450)), None);
        assert_eq!(entry("tea", 450).revised(3, &entry("green tea", 450)), Some(4));
        assert_eq!(entry("tea", 450).revised(3, &entry("tea", 451)), Some(4));
        let usd = Entry { name: "tea".into(), unit_price: Money::new(450, Currency::Usd) };
        assert_eq!(entry("tea", 450).revised(3, &usd), Some(4));
    }

    #[test]
    fn an_adjustment_takes_only_what_is_free() {
        assert_eq!(stock(10, 4).adjust(-6), Ok(stock(4, 4)));
        assert_eq!(stock(10, 4).adjust(-7), Err(Rejection::Insufficient(stock(10, 4))));
        assert_eq!(stock(0, 0).adjust(i64::MIN), Err(Rejection::Insufficient(stock(0, 0))));
    }

    #[test]
    fn an_adjustment_never_exceeds_the_most() {
        assert_eq!(stock(Stock::MAX - 1, 0).adjust(1), Ok(stock(Stock::MAX, 0)));
        assert_eq!(stock(Stock::MAX, 0).adjust(1), Err(Rejection::TooMany(stock(Stock::MAX, 0))));
        assert_eq!(stock(1, 0).adjust(i64::MAX), Err(Rejection::TooMany(stock(1, 0))));
    }

    #[test]
    fn only_what_is_available_is_reserved() {
        assert_eq!(stock(10, 4).reserve(6), Some(stock(10, 10)));
        assert_eq!(stock(10, 4).reserve(7), None);
        assert_eq!(stock(10, 4).reserve(i64::MAX), None);
    }

    #[test]
    fn only_what_is_reserved_ships_or_is_released() {
        assert_eq!(stock(10, 4).ship(4), Ok(stock(6, 0)));
        assert_eq!(stock(10, 4).release(4), Ok(stock(10, 0)));
        assert_eq!(stock(10, 4).ship(5), Err(NotReserved));
        assert_eq!(stock(10, 4).release(5), Err(NotReserved));
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
        fn no_history_makes_stock_negative_or_promises_more_than_there_is(steps in steps()) {
            let mut stock = Stock::default();
            for step in steps {
                let next = match step {
                    Step::Adjust(delta) => stock.adjust(delta).ok(),
                    Step::Reserve(quantity) => stock.reserve(quantity),
                    Step::Ship(quantity) => stock.ship(quantity).ok(),
                    Step::Release(quantity) => stock.release(quantity).ok(),
                };
                if let Some(next) = next {
                    stock = next;
                }
                prop_assert!(0 <= stock.reserved && stock.reserved <= stock.on_hand && stock.on_hand <= Stock::MAX);
            }
        }

        #[test]
        fn what_is_reserved_and_released_changes_nothing(on_hand in 0..1000_i64, quantity in 1..1000_i64) {
            let before = stock(on_hand, 0);
            if let Some(held) = before.reserve(quantity) {
                prop_assert_eq!(held.release(quantity), Ok(before));
                prop_assert_eq!(held.ship(quantity), Ok(stock(on_hand - quantity, 0)));
            }
        }
    }
}
