//! Reviews: the questions that only an operator can answer.

use std::fmt;

use contracts::{PaymentId, RefundId};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
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
    /// A worker cannot take the call or record its result: it fails with a permanent error each time.
    CannotBeTaken,
}

/// The operator's finding about the money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Resolution {
    /// The card was charged. For a refund: the amount was not refunded.
    Captured,
    /// The card was not charged.
    NotCaptured,
    /// The payer has the money back.
    Refunded,
    /// The failed refund is made again.
    Retried,
}
