//! The problems that only `orders` has, and which of its rejections are kept.

use edge::{CommandError, problem_types};

use crate::domain::{Conflict, Rejection};

problem_types! {
    /// The catalogue does not know an item (yet).
    ITEM_UNKNOWN = "item-unknown", 422, "An item is not in the catalogue", retryable: true;
    /// An order has one currency.
    CURRENCY_MIXED = "currency-mixed", 422, "The items are priced in different currencies", retryable: false;
    /// The customer was shown another total.
    PRICE_CHANGED = "price-changed", 422, "The total is not the expected one", retryable: false;
    /// Above the limit.
    TOTAL_TOO_LARGE = "total-too-large", 422, "The total is too large", retryable: false;
    /// It ended, one way or the other.
    ORDER_NOT_CANCELLABLE = "order-not-cancellable", 409, "The order can no longer be cancelled", retryable: false;
    /// It was cancelled with another reason.
    ORDER_CANCELLED_OTHERWISE = "order-cancelled-otherwise", 409, "The order was cancelled with another reason", retryable: false;
}

impl From<Rejection> for CommandError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            // The projection follows within moments: the same key may try again.
            Rejection::ItemUnknown(skus) => {
                let names: Vec<&str> = skus.iter().map(contracts::Sku::as_str).collect();
                let detail = format!(
                    "Not in the catalogue: {}. A new item appears within moments; then send the same request again.",
                    names.join(", ")
                );
                Self::refused(&ITEM_UNKNOWN, detail)
            }
            Rejection::CurrencyMixed => Self::rejected(
                &CURRENCY_MIXED,
                "All items of an order must be priced in one currency. Place an order for each currency.",
            ),
            Rejection::PriceChanged { total } => Self::rejected(
                &PRICE_CHANGED,
                format!(
                    "The order would cost {total} now. Show that to the customer, then order with a new key."
                ),
            ),
            Rejection::TotalTooLarge => Self::rejected(
                &TOTAL_TOO_LARGE,
                format!("An order may cost {} minor units at most.", contracts::Money::MAX),
            ),
        }
    }
}

impl From<Conflict> for CommandError {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::TooLate | Conflict::Impossible => {
                Self::rejected(&ORDER_NOT_CANCELLABLE, "The order has already ended. Read it to see how.")
            }
            Conflict::OtherReason => Self::rejected(
                &ORDER_CANCELLED_OTHERWISE,
                "The order is cancelled already, with another reason; that one stays.",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_problem_is_in_the_catalogue() {
        let catalogue = include_str!("../../../docs/problems.md");
        for kind in super::ALL {
            let heading = format!("## {}\n", kind.code);
            let section = catalogue
                .split(&heading)
                .nth(1)
                .unwrap_or_else(|| panic!("docs/problems.md has no {heading}"));
            assert!(
                section.lines().take(3).any(|l| l.contains(&kind.status.to_string())),
                "{} lacks its status",
                kind.code
            );
        }
    }
}
