//! The problems that only `inventory` has, and which errors become which problem.

use edge::{CommandError, problem_types};

use crate::domain::{Inconsistency, Rejection, Stock};

problem_types! {
    /// An adjustment would remove pieces that are held for orders, or that do not exist.
    STOCK_INSUFFICIENT = "stock-insufficient", 409, "There is not enough stock", retryable: false;
    /// An adjustment would exceed the largest stock of an item.
    STOCK_LIMIT = "stock-limit", 422, "The stock would be too large", retryable: false;
}

impl From<Rejection> for CommandError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::Insufficient(stock) => {
                let Stock { on_hand, reserved } = stock;
                let detail = format!(
                    "{on_hand} are on hand, of which {reserved} are held for orders, so at most {} can be removed. \
                     Adjust by less, or wait until orders ship or are cancelled; then use a new key.",
                    stock.available(),
                );
                Self::rejected(&STOCK_INSUFFICIENT, detail)
            }
            Rejection::TooMany(Stock { on_hand, .. }) => {
                let detail = format!("{on_hand} are on hand; at most {} of an item can be.", Stock::MAX);
                Self::rejected(&STOCK_LIMIT, detail)
            }
        }
    }
}

/// Trying again does not help: the message is parked.
impl From<Inconsistency> for inbox::HandlerError {
    fn from(inconsistency: Inconsistency) -> Self {
        Self::Refused(inconsistency.to_string())
    }
}
