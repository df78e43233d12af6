//! Records the movements of the account's balance, with their fees.

use database::{Tx, UnitOfWork};

use crate::store::balance::BalanceTransaction;
use crate::store::new_id;

/// The cause of a movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Movement {
    /// A captured charge. It costs a fee.
    Charge,
    /// A refund. The fee of its charge is not given back.
    Refund,
    /// A refund that the bank returned.
    RefundFailure,
}

/// Adds a movement of this charge or refund to the transaction.
pub(crate) async fn record(
    tx: &mut Tx,
    movement: Movement,
    source: &str,
    amount: i64,
    currency: &str,
) -> database::Result<BalanceTransaction> {
    let (kind, amount, fee) = match movement {
        Movement::Charge => ("charge", amount, fee(amount)),
        Movement::Refund => ("refund", -amount, 0),
        Movement::RefundFailure => ("refund_failure", amount, 0),
    };
    let movement = BalanceTransaction {
        id: new_id("txn"),
        kind: kind.to_owned(),
        source: source.to_owned(),
        amount,
        fee,
        net: amount - fee,
        currency: currency.to_owned(),
        created: tx.now().await?.timestamp(),
    };
    tx.buffer(movement.clone());
    Ok(movement)
}

/// 2.9 %, rounded half up, and 30 minor units: Stripe's list price in the United States, in any currency.
fn fee(amount: i64) -> i64 {
    (amount * 29 + 500) / 1000 + 30
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fee_is_rounded_half_up() {
        assert_eq!((fee(1000), fee(1999), fee(50)), (59, 88, 31));
        assert_eq!(fee(1_000_000_000_000), 29_000_000_030);
    }
}
