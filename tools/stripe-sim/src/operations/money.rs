//! What each movement of money does to the balance.

use database::Tx;

use crate::store::balance::{self, NewMovement};
use crate::store::new_id;

/// Of a charge: 2.9 %, rounded half up, and 30 minor units of whatever currency. The real processor's fees are a
/// contract; this is its list price in the United States.
pub(crate) fn fee(amount: i64) -> i64 {
    (amount * 29 + 500) / 1000 + 30
}

/// A charge was captured. Returns the movement's id.
pub(crate) async fn captured(
    tx: &mut Tx,
    charge: &str,
    amount: i64,
    currency: &str,
) -> database::Result<String> {
    note(tx, "charge", charge, amount, fee(amount), currency).await
}

/// A refund has left. The fee of its charge is not given back.
pub(crate) async fn given_back(
    tx: &mut Tx,
    refund: &str,
    amount: i64,
    currency: &str,
) -> database::Result<String> {
    note(tx, "refund", refund, -amount, 0, currency).await
}

/// A refund that had left was returned by the bank.
pub(crate) async fn returned(
    tx: &mut Tx,
    refund: &str,
    amount: i64,
    currency: &str,
) -> database::Result<String> {
    note(tx, "refund_failure", refund, amount, 0, currency).await
}

async fn note(
    tx: &mut Tx,
    kind: &'static str,
    source: &str,
    amount: i64,
    fee: i64,
    currency: &str,
) -> database::Result<String> {
    let id = new_id("txn");
    balance::insert(tx, &NewMovement { id: &id, kind, source, amount, fee, net: amount - fee, currency })
        .await?;
    Ok(id)
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
