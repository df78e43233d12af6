//! Which refund a client can have, and which failed refund an operator can make again.
//!
//! This is where it is decided who wins if a refund is requested while the order is being cancelled. Both lock the payment's row, so
//! one of them is first. If the cancellation is first, it wins: the payment is refunded in full automatically, and the client's refund
//! is refused. If the refund is first, its order is confirmed, and `orders` does not cancel a confirmed order; before the confirmation
//! the refund is refused, because the order can still be cancelled (decision 0015).

use contracts::{Currency, Money, PaymentId, RefundId};

use super::{State, Status};
use crate::domain::ProcessorReference;
use crate::domain::payment::{self, Payment};

/// A client's refund is accepted only while its payment has fewer refunds, because each read of the payment loads all of them.
/// Failed refunds count. Automatic refunds and those that follow a failed one count, and are never refused.
pub const MOST_REFUNDS: usize = 100;

/// The part of a payment that decides about its refunds.
#[derive(Debug)]
pub struct Refundable {
    /// Its id.
    pub id: PaymentId,
    /// State, and whether the order is cancelled.
    pub payment: Payment,
    /// The payment has an order, which is not confirmed.
    pub awaits_confirmation: bool,
    /// The amount that is or would be captured.
    pub total: Money,
    /// The amount of its refunds that have not failed, in minor units.
    pub reserved: i64,
}

/// Why a client's refund is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The key has made this refund before, and its record is deleted.
    Repeated(RefundId),
    /// The payment is refunded automatically.
    OrderCancelled,
    /// Nothing was captured.
    NotCaptured,
    /// The order can still be cancelled.
    OrderUnconfirmed,
    /// The payment is in this currency.
    OtherCurrency(Currency),
    /// Of the total, less is left than the client asks for.
    ExceedsCapture {
        /// The captured amount.
        total: Money,
        /// The amount that is left of it.
        left: Money,
    },
    /// The payment has this number of refunds.
    TooMany(usize),
}

impl Refundable {
    /// Decides about a client's refund with this id, of `amount` or of everything that is left. `made` are the payment's refunds.
    /// Returns the amount in minor units, and the charge that it is taken from.
    pub fn request(
        &self,
        made: &[RefundId],
        id: RefundId,
        amount: Option<Money>,
    ) -> Result<(i64, &ProcessorReference), Refusal> {
        if made.contains(&id) {
            return Err(Refusal::Repeated(id));
        }
        if self.payment.cancel_requested {
            return Err(Refusal::OrderCancelled);
        }
        let payment::State::Captured(charge) = &self.payment.state else { return Err(Refusal::NotCaptured) };
        if self.awaits_confirmation {
            return Err(Refusal::OrderUnconfirmed);
        }
        let (total, left) = (self.total, self.left());
        let amount = amount.unwrap_or(left);
        if amount.currency != total.currency {
            return Err(Refusal::OtherCurrency(total.currency));
        }
        if !(1..=left.amount).contains(&amount.amount) {
            return Err(Refusal::ExceedsCapture { total, left });
        }
        if made.len() >= MOST_REFUNDS {
            return Err(Refusal::TooMany(made.len()));
        }
        Ok((amount.amount, charge))
    }

    /// Decides whether a failed refund of `amount` minor units can be made again. `follower` is the refund that follows it already;
    /// `paid_back` is true if an operator has resolved that the payer has the money. The error says what the operator can do instead.
    pub fn make_again(
        &self,
        failed: &State,
        amount: i64,
        follower: Option<(RefundId, &State)>,
        paid_back: bool,
    ) -> Result<(), String> {
        if let Some((next, state)) = follower {
            let state = Status::from(state);
            return Err(format!("refund {next} follows it already, and is {state}: act on that one"));
        }
        if !matches!(failed, State::Failed { .. }) {
            return Err(format!("it is {}; only a failed refund can be made again", Status::from(failed)));
        }
        if paid_back {
            return Err("a review of it was resolved as refunded, so the payer has the money back".to_owned());
        }
        let (total, left) = (self.total, self.left());
        if amount > left.amount {
            let amount = Money::new(amount, total.currency);
            return Err(format!(
                "of {total}, {left} can still be refunded, and the refund is of {amount}: see the other refunds of \
                 payment {}; refund the rest with POST /v1/payments/{{id}}/refunds",
                self.id
            ));
        }
        Ok(())
    }

    fn left(&self) -> Money {
        Money::new(self.total.amount - self.reserved, self.total.currency)
    }
}
