//! How much of a payment a client can refund now.

use contracts::Money;
use edge::CommandError;

use crate::domain::ProcessorReference;
use crate::domain::payment::State;
use crate::domain::refund::MOST_REFUNDS;
use crate::error::{
    PAYMENT_CANCELLED, PAYMENT_NOT_CAPTURED, PAYMENT_UNCONFIRMED, REFUND_CURRENCY, REFUND_EXCEEDS_CAPTURE,
};
use crate::store::payments::PaymentRow;

/// Decides how much of a payment is refunded now. It has `made` refunds, and is locked. Decision 0015 says why an order's payment waits.
pub(super) fn refundable(
    payment: &PaymentRow,
    made: usize,
    requested: Option<Money>,
) -> Result<(ProcessorReference, i64), CommandError> {
    let current = payment.payment()?;
    if current.cancel_requested {
        let detail = "The order is cancelled. Its payment is refunded in full automatically.";
        return Err(CommandError::rejected(&PAYMENT_CANCELLED, detail));
    }
    let State::Captured(captured) = current.state else {
        let detail = "The payment is not captured, so nothing can be refunded.";
        return Err(CommandError::rejected(&PAYMENT_NOT_CAPTURED, detail));
    };
    if payment.order().is_some() && !payment.confirmed {
        let detail = "The order is not confirmed yet. Send the same request again in a moment.";
        return Err(CommandError::refused(&PAYMENT_UNCONFIRMED, detail));
    }
    let total = payment.amount()?;
    if requested.is_some_and(|requested| requested.currency != total.currency) {
        let detail = format!("The payment is in {}, and refunds are made in that currency.", total.currency);
        return Err(CommandError::rejected(&REFUND_CURRENCY, detail));
    }
    let left = total.amount - payment.refund_reserved;
    let amount = requested.map_or(left, |requested| requested.amount);
    if amount < 1 || amount > left {
        let left = Money::new(left, total.currency);
        let detail = format!("Of {total}, {left} can still be refunded.");
        return Err(CommandError::rejected(&REFUND_EXCEEDS_CAPTURE, detail));
    }
    if made >= MOST_REFUNDS {
        let detail = format!("The payment has {made} refunds, failed ones included, and can have no more.");
        return Err(CommandError::rejected(&REFUND_EXCEEDS_CAPTURE, detail));
    }
    Ok((captured, amount))
}
