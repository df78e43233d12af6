//! Promise 5 across two databases: for each payment, our ledger agrees with the processor's own balance.

use std::collections::BTreeMap;

use super::AmountOwed;

/// Both sides, by payment and currency.
pub struct BooksAgree {
    ours: BTreeMap<(String, String), (i64, i64)>,
    theirs: BTreeMap<(String, String), (i64, i64)>,
}

impl BooksAgree {
    /// Joins the rows of both sides.
    pub fn of(ledger: Vec<AmountOwed>, balance: Vec<AmountOwed>) -> Self {
        let by_payment = |rows: Vec<AmountOwed>| {
            let row = |row: AmountOwed| {
                ((row.payment.unwrap_or_else(|| "none".to_owned()), row.currency), (row.owed, row.fees))
            };
            rows.into_iter().map(row).collect()
        };
        Self { ours: by_payment(ledger), theirs: by_payment(balance) }
    }

    /// The differences, in sentences.
    pub fn violations(&self) -> Vec<String> {
        let mut places: Vec<_> = self.ours.keys().chain(self.theirs.keys()).collect();
        places.sort_unstable();
        places.dedup();
        let differs = |place: &&(String, String)| {
            let of = |side: &BTreeMap<_, (i64, i64)>| side.get(*place).copied().unwrap_or_default();
            let (ours, theirs) = (of(&self.ours), of(&self.theirs));
            let (payment, currency) = place;
            (ours != theirs).then(|| {
                format!(
                    "payment {payment}: our ledger says {} {currency} receivable and {} of fees, the processor {} and {}",
                    ours.0, ours.1, theirs.0, theirs.1
                )
            })
        };
        places.iter().filter_map(differs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount_owed(payment: &str, owed: i64, fees: i64) -> AmountOwed {
        AmountOwed { payment: Some(payment.to_owned()), currency: "EUR".to_owned(), owed, fees }
    }

    #[test]
    fn every_difference_between_our_ledger_and_the_processors_balance_is_a_violation() {
        let ours = || vec![amount_owed("a", 440, 10), amount_owed("b", -10, 10)];
        assert_eq!(BooksAgree::of(ours(), ours()).violations(), Vec::<String>::new());
        for theirs in [
            vec![amount_owed("a", 440, 10)],
            vec![amount_owed("a", 450, 0), amount_owed("b", -10, 10)],
            vec![amount_owed("a", 441, 10), amount_owed("b", -10, 10)],
            vec![amount_owed("a", 440, 10), amount_owed("b", -10, 10), amount_owed("c", 1, 0)],
        ] {
            assert_eq!(BooksAgree::of(ours(), theirs).violations().len(), 1);
        }
    }
}
