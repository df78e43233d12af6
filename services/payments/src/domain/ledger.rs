//! The double-entry postings for each movement of money.
//!
//! A posting moves one amount from one account to another. Its entries therefore always sum to zero.
//!
//! | movement | debit | credit |
//! |---|---|---|
//! | capture for an order | receivable | clearing |
//! | capture without an order | receivable | revenue |
//! | the order is confirmed | clearing | revenue |
//! | refund, the order not confirmed | clearing | receivable |
//! | refund, confirmed or without an order | refunds | receivable |
//! | refund returned by a bank | receivable | the account that the refund debited |
//! | the processor's fee | fees | receivable |

use contracts::Money;
use strum::{EnumString, IntoStaticStr};

use super::{payment, refund};

/// An account. Each tenant has one of each kind in each currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Account {
    /// The amount that the processor owes us.
    Receivable,
    /// Captured for orders that are not confirmed yet. Zero for each order that is confirmed or refunded.
    Clearing,
    /// Revenue from confirmed orders and payments without an order.
    Revenue,
    /// Refunded revenue.
    Refunds,
    /// Fees of the processor.
    Fees,
}

/// The kind of a posting. Each kind is posted once for a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PostingKind {
    /// A card was charged.
    Capture,
    /// The order of a payment was confirmed.
    Confirmation,
    /// A refund succeeded.
    Refund,
    /// A bank returned a refund.
    RefundReversal,
    /// The processor kept its fee.
    Fee,
}

/// The purpose of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An order that is not confirmed.
    OpenOrder,
    /// An order that is confirmed.
    ConfirmedOrder,
    /// No order. The captured amount is revenue at once.
    NoOrder,
}

/// One side of a posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The account.
    pub account: Account,
    /// Minor units: a debit is positive, a credit is negative.
    pub amount: Money,
}

/// One movement of money. Every value of this type balances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    kind: PostingKind,
    debit: Account,
    credit: Account,
    amount: Money,
}

impl Posting {
    /// A capture.
    pub const fn capture(amount: Money, purpose: Purpose) -> Self {
        let credit = match purpose {
            Purpose::OpenOrder | Purpose::ConfirmedOrder => Account::Clearing,
            Purpose::NoOrder => Account::Revenue,
        };
        Self { kind: PostingKind::Capture, debit: Account::Receivable, credit, amount }
    }

    /// The confirmation of the order.
    pub const fn confirmation(amount: Money) -> Self {
        Self { kind: PostingKind::Confirmation, debit: Account::Clearing, credit: Account::Revenue, amount }
    }

    /// A refund.
    pub const fn refund(amount: Money, purpose: Purpose) -> Self {
        let debit = match purpose {
            Purpose::OpenOrder => Account::Clearing,
            Purpose::ConfirmedOrder | Purpose::NoOrder => Account::Refunds,
        };
        Self { kind: PostingKind::Refund, debit, credit: Account::Receivable, amount }
    }

    /// The reversal of a refund that a bank returned: the entries of the refund with opposite signs.
    pub const fn reversal(amount: Money, purpose: Purpose) -> Self {
        let Self { debit, credit, .. } = Self::refund(amount, purpose);
        Self { kind: PostingKind::RefundReversal, debit: credit, credit: debit, amount }
    }

    /// The processor's fee.
    pub const fn fee(amount: Money) -> Self {
        Self { kind: PostingKind::Fee, debit: Account::Fees, credit: Account::Receivable, amount }
    }

    /// Returns the postings of a payment's change: the capture and the fee, each when it becomes known.
    pub fn of_payment(
        amount: Money,
        purpose: Purpose,
        from: &payment::State,
        to: &payment::State,
    ) -> Vec<Self> {
        let payment::State::Captured(reference) = to else { return Vec::new() };
        let mut postings = Vec::new();
        let known = match from {
            payment::State::Captured(before) => before.fee.as_ref(),
            payment::State::Requested
            | payment::State::Capturing
            | payment::State::Unknown
            | payment::State::Declined { .. }
            | payment::State::Cancelled => {
                postings.push(Self::capture(amount, purpose));
                None
            }
        };
        // The fee is in the currency of our account at the processor, which may differ from the payment's. The ledger holds
        // known currencies only; a fee in another one is stored with the payment alone.
        if let (None, Some(fee)) = (known, &reference.fee)
            && let Ok(currency) = fee.currency.parse()
        {
            postings.push(Self::fee(Money::new(fee.amount, currency)));
        }
        postings
    }

    /// Returns the posting of a refund's change: the refund, or its reversal.
    pub fn of_refund(
        amount: Money,
        purpose: Purpose,
        from: &refund::State,
        to: &refund::State,
    ) -> Option<Self> {
        use refund::State as S;
        match (from, to) {
            (S::Pending | S::Unknown | S::Failed { .. }, S::Succeeded { .. }) => {
                Some(Self::refund(amount, purpose))
            }
            // The purpose has not changed since the refund: a payment is refunded before its confirmation only if its
            // order is cancelled, and a cancelled order is never confirmed.
            (S::Succeeded { .. }, S::Failed { .. }) => Some(Self::reversal(amount, purpose)),
            (S::Pending | S::Unknown | S::Failed { .. }, S::Pending | S::Unknown | S::Failed { .. })
            | (S::Succeeded { .. }, S::Pending | S::Unknown | S::Succeeded { .. }) => None,
        }
    }

    /// Returns its kind.
    pub const fn kind(&self) -> PostingKind {
        self.kind
    }

    /// Returns its two entries, which sum to zero. A posting of the amount zero has none.
    pub fn entries(&self) -> Vec<Entry> {
        let Self { debit, credit, amount, .. } = *self;
        if amount.amount == 0 {
            return Vec::new();
        }
        let back = Money::new(-amount.amount, amount.currency);
        vec![Entry { account: debit, amount }, Entry { account: credit, amount: back }]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use contracts::Currency;
    use proptest::prelude::*;

    use super::*;

    fn money() -> impl Strategy<Value = Money> {
        let currency = prop_oneof![Just(Currency::Eur), Just(Currency::Usd), Just(Currency::Jpy)];
        (0..=Money::MAX, currency).prop_map(|(amount, currency)| Money::new(amount, currency))
    }

    fn purpose() -> impl Strategy<Value = Purpose> {
        prop_oneof![Just(Purpose::OpenOrder), Just(Purpose::ConfirmedOrder), Just(Purpose::NoOrder)]
    }

    fn posting() -> impl Strategy<Value = Posting> {
        (money(), purpose(), 0..5).prop_map(|(amount, purpose, kind)| match kind {
            0 => Posting::capture(amount, purpose),
            1 => Posting::confirmation(amount),
            2 => Posting::refund(amount, purpose),
            3 => Posting::reversal(amount, purpose),
            _ => Posting::fee(amount),
        })
    }

    /// Returns the balances after these postings, without accounts at zero.
    fn balances(postings: &[Posting]) -> BTreeMap<(Account, Currency), i64> {
        let mut balances = BTreeMap::new();
        for Entry { account, amount } in postings.iter().flat_map(Posting::entries) {
            *balances.entry((account, amount.currency)).or_insert(0) += amount.amount;
        }
        balances.retain(|_, balance| *balance != 0);
        balances
    }

    fn sum(balances: &BTreeMap<(Account, Currency), i64>) -> i64 {
        balances.values().sum()
    }

    proptest! {
        #[test]
        fn every_posting_sums_to_zero_in_its_currency(posting in posting()) {
            let entries = posting.entries();
            prop_assert!(entries.iter().all(|entry| entry.amount.amount != 0));
            prop_assert!(entries.is_empty() || entries.len() == 2);
            prop_assert_eq!(entries.iter().map(|entry| entry.amount.amount).sum::<i64>(), 0);
            prop_assert!(entries.windows(2).all(|pair| pair[0].amount.currency == pair[1].amount.currency));
        }

        #[test]
        fn a_reversal_leaves_nothing_of_its_refund(amount in money(), purpose in purpose()) {
            let both = [Posting::refund(amount, purpose), Posting::reversal(amount, purpose)];
            prop_assert_eq!(balances(&both), BTreeMap::new());
        }

        /// Holds for every end of the order and for every earlier refund and return.
        #[test]
        fn clearing_is_empty_once_an_order_is_settled(
            amount in money(), fee in money(), part in 0.0..=1.0f64, returned in any::<bool>(), kept in any::<bool>(),
        ) {
            let mut postings = vec![Posting::capture(amount, Purpose::OpenOrder), Posting::fee(fee)];
            if kept {
                #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "below 2^53")]
                let back = Money::new((amount.amount as f64 * part) as i64, amount.currency);
                postings.push(Posting::confirmation(amount));
                postings.push(Posting::refund(back, Purpose::ConfirmedOrder));
                if returned {
                    postings.push(Posting::reversal(back, Purpose::ConfirmedOrder));
                }
            } else {
                postings.push(Posting::refund(amount, Purpose::OpenOrder));
            }
            let balances = balances(&postings);
            prop_assert!(balances.keys().all(|(account, _)| *account != Account::Clearing), "{:?}", balances);
            prop_assert_eq!(sum(&balances), 0);
        }
    }

    #[test]
    fn each_kind_of_posting_debits_and_credits_what_the_table_says() {
        use Account as A;
        let one = Money::new(1, Currency::Eur);
        for (posting, debit, credit) in [
            (Posting::capture(one, Purpose::OpenOrder), A::Receivable, A::Clearing),
            (Posting::capture(one, Purpose::NoOrder), A::Receivable, A::Revenue),
            (Posting::confirmation(one), A::Clearing, A::Revenue),
            (Posting::refund(one, Purpose::OpenOrder), A::Clearing, A::Receivable),
            (Posting::refund(one, Purpose::ConfirmedOrder), A::Refunds, A::Receivable),
            (Posting::refund(one, Purpose::NoOrder), A::Refunds, A::Receivable),
            (Posting::reversal(one, Purpose::OpenOrder), A::Receivable, A::Clearing),
            (Posting::reversal(one, Purpose::ConfirmedOrder), A::Receivable, A::Refunds),
            (Posting::fee(one), A::Fees, A::Receivable),
        ] {
            let accounts: Vec<Account> = posting.entries().iter().map(|entry| entry.account).collect();
            assert_eq!(accounts, [debit, credit], "{posting:?}");
        }
    }
}
