//! The check of an amount of money, which several endpoints share.

use contracts::Money;
use edge::ValidationErrors;

/// Checks an amount of money.
pub(super) fn amount(errors: &mut ValidationErrors, money: Money) {
    let most = Money::MAX;
    errors.require(
        (1..=most).contains(&money.amount),
        "/amount/amount",
        format!("an amount is 1 to {most} minor units"),
    );
}
