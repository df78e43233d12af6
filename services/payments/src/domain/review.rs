//! Reviews: the questions that only an operator can answer.

use std::fmt;

use contracts::{PaymentId, RefundId};

/// The subject of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A payment.
    Payment(PaymentId),
    /// A refund, after its payment.
    Refund(PaymentId, RefundId),
    /// An object at the processor that carries the name of this deployment, but that no row here requested. It holds
    /// the processor's id of the object.
    Orphan(&'a str),
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Payment(payment) => write!(f, "payment {payment}"),
            Self::Refund(_, refund) => write!(f, "refund {refund}"),
            Self::Orphan(object) => write!(f, "orphan {object}"),
        }
    }
}

/// Why an operator must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The request may have taken effect, but its object cannot be found at the processor.
    NotFound,
    /// The processor's response names another amount.
    OtherAmount,
    /// The processor reports that the key belongs to another request.
    KeyMismatch,
    /// The processor denies a recorded end.
    Contradicted,
    /// The processor refused a refund that is owed.
    RefundFailed,
    /// A bank returned a refund.
    RefundReturned,
    /// The processor has a charge or refund of this deployment that no row here requested.
    Orphan,
    /// The reconciliation found another amount at the processor.
    AmountDiffers,
    /// The reconciliation did not find a captured payment at the processor.
    MissingThere,
    /// A worker cannot take the call: it fails with a permanent error each time.
    Poisoned,
}

impl Reason {
    const ALL: [Self; 10] = [
        Self::NotFound,
        Self::OtherAmount,
        Self::KeyMismatch,
        Self::Contradicted,
        Self::RefundFailed,
        Self::RefundReturned,
        Self::Orphan,
        Self::AmountDiffers,
        Self::MissingThere,
        Self::Poisoned,
    ];

    /// Its name in the table and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::OtherAmount => "other_amount",
            Self::KeyMismatch => "key_mismatch",
            Self::Contradicted => "contradicted",
            Self::RefundFailed => "refund_failed",
            Self::RefundReturned => "refund_returned",
            Self::Orphan => "orphan",
            Self::AmountDiffers => "amount_differs",
            Self::MissingThere => "missing_there",
            Self::Poisoned => "poisoned",
        }
    }

    /// Finds the reason with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// The operator's finding about the money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The card was charged. For a refund: the amount was not refunded.
    Captured,
    /// The card was not charged.
    NotCaptured,
    /// The payer has the money back.
    Refunded,
}

impl Resolution {
    pub(super) const ALL: [Self; 3] = [Self::Captured, Self::NotCaptured, Self::Refunded];

    /// Its name in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::NotCaptured => "not_captured",
            Self::Refunded => "refunded",
        }
    }

    /// Finds the resolution with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resolution| resolution.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for reason in Reason::ALL {
            assert_eq!(Reason::named(reason.name()), Some(reason));
        }
        for resolution in Resolution::ALL {
            assert_eq!(Resolution::named(resolution.name()), Some(resolution));
        }
    }
}
