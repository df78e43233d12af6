//! The balances of the ledger after all changes of state, posted as in `ledger.rs`.

use std::collections::BTreeMap;

use contracts::{Currency, Money};

use crate::domain::ledger::{Account, Entry, Posting, Purpose};
use crate::domain::{payment, refund};

/// The amount of the payment, in cents.
pub(super) const AMOUNT: i64 = 1999;
const EUR: Money = Money::new(AMOUNT, Currency::Eur);

/// The balance of each account, in cents.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Balances(BTreeMap<Account, i64>);

impl Balances {
    pub(super) fn of_charge(moves: &[(payment::State, payment::State)]) -> Self {
        let posted = |(from, to): &_| Posting::of_payment(EUR, Purpose::OpenOrder, from, to);
        Self::after(moves.iter().flat_map(posted))
    }

    pub(super) fn of_refund(moves: &[(refund::State, refund::State)]) -> Self {
        let posted = |(from, to): &_| Posting::of_refund(EUR, Purpose::ConfirmedOrder, from, to);
        Self::after(moves.iter().filter_map(posted))
    }

    fn after(postings: impl Iterator<Item = Posting>) -> Self {
        let mut balances = Self::default();
        for Entry { account, amount } in postings.flat_map(|posting| posting.entries()) {
            *balances.0.entry(account).or_default() += amount.amount;
        }
        balances
    }

    /// A debit is positive.
    pub(super) fn of(&self, account: Account) -> i64 {
        self.0.get(&account).copied().unwrap_or_default()
    }

    pub(super) fn sum(&self) -> i64 {
        self.0.values().sum()
    }
}
