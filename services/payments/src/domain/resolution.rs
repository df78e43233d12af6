//! The changes that an operator's resolution of a review makes: one table.

use super::review::Resolution;
use super::{AttemptOutcome, ProcessorReference, payment, refund};

/// The recorded state of the subject when an operator resolves the review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedState {
    /// It is unknown whether the payment was captured.
    Open,
    /// The payment was captured.
    Captured,
    /// The payment was not captured.
    NotCaptured,
    /// No request was sent for the payment yet. A worker will send it.
    Untried,
    /// It is unknown whether the refund succeeded.
    RefundOpen,
    /// The refund succeeded.
    Refunded,
    /// The refund failed.
    NotRefunded,
    /// There is no row, because the object is an orphan.
    Orphan,
}

impl RecordedState {
    /// Returns the recorded state of a payment.
    pub fn of_payment(state: &payment::State) -> Self {
        match state {
            payment::State::Requested => Self::Untried,
            payment::State::Capturing | payment::State::Unknown => Self::Open,
            payment::State::Captured(_) => Self::Captured,
            payment::State::Declined { .. } | payment::State::Cancelled => Self::NotCaptured,
        }
    }

    /// Returns the recorded state of a refund.
    pub fn of_refund(state: &refund::State) -> Self {
        match state {
            refund::State::Pending | refund::State::Unknown => Self::RefundOpen,
            refund::State::Succeeded { .. } => Self::Refunded,
            refund::State::Failed { .. } => Self::NotRefunded,
        }
    }
}

/// The change that a resolution makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResolutionEffect {
    /// The outcome is applied to the subject, as if the processor had responded with it.
    Apply(AttemptOutcome),
    /// The rows agree with the resolution already. Only the review is closed.
    Close,
}

/// The decline or failure code of a charge or refund that an operator declared not made.
const BY_REVIEW: &str = "by_review";

/// Decides what a resolution changes in this recorded state. The error says what the operator can do instead.
///
/// `processor_id` is the processor's id of the `PaymentIntent` or refund that the operator found.
pub fn effect(
    recorded: RecordedState,
    resolution: Resolution,
    processor_id: Option<&str>,
) -> Result<ResolutionEffect, &'static str> {
    use RecordedState as S;
    use Resolution as R;

    let done = || {
        let reference = |id: &str| ProcessorReference { id: id.to_owned(), charge: None, fee: None };
        let found = processor_id.map(|id| ResolutionEffect::Apply(AttemptOutcome::Succeeded(reference(id))));
        found
            .ok_or("add --processor-id with the id of the object at the processor: pi_… of a payment, re_… of a refund")
    };
    let not_done = || ResolutionEffect::Apply(AttemptOutcome::Declined { code: BY_REVIEW.to_owned() });
    match (recorded, resolution) {
        (_, R::Retried) => Err("make a failed refund again with `payments refund retry`"),
        (S::Open, R::Captured) | (S::RefundOpen, R::Refunded) => done(),
        (S::Open, R::NotCaptured) | (S::RefundOpen | S::Refunded, R::Captured) => Ok(not_done()),
        // A failed refund may be resolved as refunded: the payer got the money by another way than the processor.
        (S::Captured | S::NotRefunded, R::Captured)
        | (S::NotCaptured, R::NotCaptured)
        | (S::NotCaptured | S::Refunded | S::NotRefunded | S::Orphan, R::Refunded) => {
            Ok(ResolutionEffect::Close)
        }
        (S::Open, R::Refunded) => Err(
            "resolve it --as captured with --processor-id first; then refund it with POST /v1/payments/{id}/refunds. \
             If its order is cancelled, the service refunds it automatically",
        ),
        (S::Captured, R::NotCaptured) => Err(
            "the capture was published and cannot be undone: look for it at the processor again, and resolve the \
             review --as captured when it is there; if the processor has lost it, the processor owes the amount",
        ),
        (S::Captured, R::Refunded) => Err(
            "make the refund with POST /v1/payments/{id}/refunds, so that it is recorded; then resolve the review \
             --as captured",
        ),
        (S::NotCaptured, R::Captured) => Err(
            "the payment has ended without a capture, and that was published: refund the money at the processor, \
             then resolve the review --as refunded",
        ),
        (S::Untried, R::Captured | R::NotCaptured | R::Refunded) => {
            Err("no request was sent for this payment yet: the worker will send it")
        }
        (S::RefundOpen | S::Refunded | S::NotRefunded, R::NotCaptured) => Err(
            "the review is about a refund: resolve it --as refunded if the payer has the money back, and --as \
             captured if not",
        ),
        (S::Orphan, R::Captured | R::NotCaptured) => Err(
            "this service did not request the object: refund the money at the processor, then resolve the review \
             --as refunded; do the same for a refund that this service did not request",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Meaning {
        Done,
        NotDone,
        Close,
        Refused,
    }

    fn meaning(recorded: RecordedState, resolution: Resolution) -> Meaning {
        match effect(recorded, resolution, Some("pi_1")) {
            Ok(ResolutionEffect::Apply(AttemptOutcome::Succeeded(reference))) if reference.id == "pi_1" => {
                Meaning::Done
            }
            Ok(ResolutionEffect::Apply(AttemptOutcome::Declined { code })) if code == BY_REVIEW => {
                Meaning::NotDone
            }
            Ok(ResolutionEffect::Apply(other)) => panic!("applied as {other}"),
            Ok(ResolutionEffect::Close) => Meaning::Close,
            Err(_) => Meaning::Refused,
        }
    }

    #[test]
    fn the_meaning_of_every_resolution_is_one_table() {
        use Meaning::{Close, Done, NotDone, Refused};
        let table = [
            //                      captured not captured refunded
            (RecordedState::Open, [Done, NotDone, Refused]),
            (RecordedState::Captured, [Close, Refused, Refused]),
            (RecordedState::NotCaptured, [Refused, Close, Close]),
            (RecordedState::Untried, [Refused, Refused, Refused]),
            (RecordedState::RefundOpen, [NotDone, Refused, Done]),
            (RecordedState::Refunded, [NotDone, Refused, Close]),
            (RecordedState::NotRefunded, [Close, Refused, Close]),
            (RecordedState::Orphan, [Refused, Refused, Close]),
        ];
        for (recorded, row) in table {
            let meanings = [Resolution::Captured, Resolution::NotCaptured, Resolution::Refunded]
                .map(|resolution| meaning(recorded, resolution));
            assert_eq!(meanings, row, "{recorded:?}");
        }
    }

    #[test]
    fn a_resolution_must_name_the_object_that_was_found() {
        for (recorded, resolution) in
            [(RecordedState::Open, Resolution::Captured), (RecordedState::RefundOpen, Resolution::Refunded)]
        {
            assert!(effect(recorded, resolution, None).unwrap_err().contains("--processor-id"));
        }
    }
}
