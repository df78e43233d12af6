//! What is written down when money moves, in double entry. Pure: a posting is one amount that goes from one account to
//! another, so that it sums to zero whatever is put into it.
//!
//! | what happened | debit | credit |
//! |---|---|---|
//! | capture for an order | receivable | clearing |
//! | capture without an order | receivable | revenue |
//! | the order is confirmed | clearing | revenue |
//! | refund, the order not confirmed | clearing | receivable |
//! | refund, confirmed or without an order | refunds | receivable |
//! | a refund that came back | receivable | what the refund had debited |
//! | the processor's fee | fees | receivable |

use contracts::Money;

use super::{payment, refund};

/// Where money can be, for each tenant and currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Account {
    /// What the processor owes us.
    Receivable,
    /// Taken for orders that are not confirmed yet: nobody's, and empty for each order that is settled.
    Clearing,
    /// Earned.
    Revenue,
    /// Given back of what had been earned.
    Refunds,
    /// Kept by the processor.
    Fees,
}

impl Account {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Receivable, Self::Clearing, Self::Revenue, Self::Refunds, Self::Fees];

    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receivable => "receivable",
            Self::Clearing => "clearing",
            Self::Revenue => "revenue",
            Self::Refunds => "refunds",
            Self::Fees => "fees",
        }
    }
}

/// What happened to money. Each happens to its cause once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It was taken.
    Capture,
    /// The order that it was taken for is confirmed.
    Confirmation,
    /// It was given back.
    Refund,
    /// What was given back has come back.
    RefundReversal,
    /// The processor has kept its share.
    Fee,
}

impl Kind {
    /// Its name in the tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Confirmation => "confirmation",
            Self::Refund => "refund",
            Self::RefundReversal => "refund_reversal",
            Self::Fee => "fee",
        }
    }
}

/// What a payment's money is taken for, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An order that may still be cancelled, or was.
    OpenOrder,
    /// An order that is confirmed.
    ConfirmedOrder,
    /// No order: it is earned with the capture.
    NoOrder,
}

/// One side of a posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Which account.
    pub account: Account,
    /// Minor units: a debit is positive, a credit is negative.
    pub amount: Money,
}

/// One thing that happened to money. There is no way to make one that does not balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    kind: Kind,
    debit: Account,
    credit: Account,
    amount: Money,
}

impl Posting {
    /// The processor has taken money for us.
    pub const fn capture(amount: Money, purpose: Purpose) -> Self {
        let credit = match purpose {
            Purpose::OpenOrder | Purpose::ConfirmedOrder => Account::Clearing,
            Purpose::NoOrder => Account::Revenue,
        };
        Self { kind: Kind::Capture, debit: Account::Receivable, credit, amount }
    }

    /// What was taken for the order is earned.
    pub const fn confirmation(amount: Money) -> Self {
        Self { kind: Kind::Confirmation, debit: Account::Clearing, credit: Account::Revenue, amount }
    }

    /// The processor has given money back.
    pub const fn refund(amount: Money, purpose: Purpose) -> Self {
        let debit = match purpose {
            Purpose::OpenOrder => Account::Clearing,
            Purpose::ConfirmedOrder | Purpose::NoOrder => Account::Refunds,
        };
        Self { kind: Kind::Refund, debit, credit: Account::Receivable, amount }
    }

    /// What was given back did not arrive: the refund's own entries, the other way round.
    pub const fn reversal(amount: Money, purpose: Purpose) -> Self {
        let Self { debit, credit, .. } = Self::refund(amount, purpose);
        Self { kind: Kind::RefundReversal, debit: credit, credit: debit, amount }
    }

    /// The processor has kept its share.
    pub const fn fee(amount: Money) -> Self {
        Self { kind: Kind::Fee, debit: Account::Fees, credit: Account::Receivable, amount }
    }

    /// What a payment's move writes down: what was taken, and what the processor kept of it, each as soon as it is known.
    pub fn of_payment(
        amount: Money,
        purpose: Purpose,
        from: &payment::State,
        to: &payment::State,
    ) -> Vec<Self> {
        let payment::State::Captured(receipt) = to else { return Vec::new() };
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
        if let (None, Some(fee)) = (known, &receipt.fee) {
            // In the currency of our account at the processor, which need not be the payment's.
            postings.push(Self::fee(Money::new(fee.amount, fee.currency)));
        }
        postings
    }

    /// What a refund's move writes down: that money has gone, or that it has come back.
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
            // What the payment is for has not changed since: who is refunded before the order is confirmed has cancelled
            // it, and a cancelled order is never confirmed.
            (S::Succeeded { .. }, S::Failed { .. }) => Some(Self::reversal(amount, purpose)),
            (S::Pending | S::Unknown | S::Failed { .. }, S::Pending | S::Unknown | S::Failed { .. })
            | (S::Succeeded { .. }, S::Pending | S::Unknown | S::Succeeded { .. }) => None,
        }
    }

    /// What happened.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its entries; together they are zero. None if there is nothing to move.
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

    /// What the accounts hold after these postings.
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

        /// However an order ends, and whatever is given back and returned on the way.
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
