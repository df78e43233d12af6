//! The problems that only `orders` has, and which errors become which problem.
//!
//! A *rejected* request is stored and replayed; a *refused* one is not stored, and its key can be used again.

use edge::{CommandError, problem_types};

use crate::domain::{Conflict, Rejection};

problem_types! {
    /// The catalogue does not have an item, or not yet.
    ITEM_UNKNOWN = "item-unknown", 422, "An item is not in the catalogue", retryable: true;
    /// The items of an order have prices in different currencies.
    CURRENCY_MIXED = "currency-mixed", 422, "The items are priced in different currencies", retryable: false;
    /// The total is not the `expected_total` of the request.
    PRICE_CHANGED = "price-changed", 422, "The total is not the expected one", retryable: false;
    /// The total is above the limit.
    TOTAL_TOO_LARGE = "total-too-large", 422, "The total is too large", retryable: false;
    /// The order is confirmed, or was cancelled for another cause.
    ORDER_NOT_CANCELLABLE = "order-not-cancellable", 409, "The order can no longer be cancelled", retryable: false;
    /// The customer has cancelled the order with another reason.
    ORDER_CANCELLED_OTHERWISE = "order-cancelled-otherwise", 409, "The order was cancelled with another reason", retryable: false;
}

impl From<Rejection> for CommandError {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            // Refused, because the item may arrive within moments and the same key should then succeed.
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
                "All items of an order must be priced in one currency. Place one order for each currency.",
            ),
            Rejection::PriceChanged { total } => Self::rejected(
                &PRICE_CHANGED,
                format!(
                    "The order now costs {total}. Show this total to the customer, then order with a new key."
                ),
            ),
            Rejection::TotalTooLarge => Self::rejected(
                &TOTAL_TOO_LARGE,
                format!("The total of an order is at most {} minor units.", contracts::Money::MAX),
            ),
        }
    }
}

impl From<Conflict> for CommandError {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::AlreadyEnded | Conflict::UnexpectedEvent => Self::rejected(
                &ORDER_NOT_CANCELLABLE,
                "The order is confirmed or cancelled already. Read the order to see its status.",
            ),
            Conflict::OtherNote => Self::rejected(
                &ORDER_CANCELLED_OTHERWISE,
                "The order is cancelled already, with another reason. The first reason is kept.",
            ),
        }
    }
}
