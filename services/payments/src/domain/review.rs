//! What people are asked to look into, and what their answer means: one table. Pure.

use std::fmt;

use contracts::{PaymentId, RefundId};

use super::{Outcome, ProcessorReference, payment, refund};

/// What it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject<'a> {
    /// A payment of ours.
    Payment(PaymentId),
    /// A refund of ours, and its payment.
    Refund(PaymentId, RefundId),
    /// An object at the processor that carries our deployment's name and that we know nothing of: its name there.
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

/// Why a person must look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It may have been carried out, and cannot be found at the processor.
    NotFound,
    /// The processor answered about another amount.
    OtherAmount,
    /// The processor knows the key with another request.
    KeyMismatch,
    /// The processor denies what was recorded before.
    Contradicted,
    /// The processor refused to give money back that is owed.
    RefundFailed,
    /// A bank has returned money that was given back.
    RefundReturned,
    /// Taken or given back under our name, and nothing here asked for it.
    Orphan,
    /// The processor's books have another amount.
    AmountDiffers,
    /// It stands here, and not in the processor's books.
    MissingThere,
    /// It cannot even be tried.
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

    /// As it is stored and printed.
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

    /// The reason of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }
}

/// What a person found out about the money of one payment, or of one refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The processor has taken it and holds it. Of a refund: it was not given back.
    Captured,
    /// The processor has never taken it.
    NotCaptured,
    /// The payer has it back.
    Refunded,
}

impl Resolution {
    const ALL: [Self; 3] = [Self::Captured, Self::NotCaptured, Self::Refunded];

    /// As it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Captured => "captured",
            Self::NotCaptured => "not_captured",
            Self::Refunded => "refunded",
        }
    }

    /// The resolution of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resolution| resolution.name() == name)
    }
}

/// What our books say about the subject when a person answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Whether the payment was captured is open.
    Open,
    /// It was captured.
    Captured,
    /// Nothing was taken for it.
    NotCaptured,
    /// Nothing has been sent for it, and a worker goes on with it.
    Untried,
    /// Whether the refund was carried out is open.
    RefundOpen,
    /// It was.
    Refunded,
    /// It was not.
    NotRefunded,
    /// They say nothing, because the object is none of ours.
    Orphan,
}

impl Standing {
    /// A payment's.
    pub fn of_payment(state: &payment::State) -> Self {
        match state {
            payment::State::Requested => Self::Untried,
            payment::State::Capturing | payment::State::Unknown => Self::Open,
            payment::State::Captured(_) => Self::Captured,
            payment::State::Declined { .. } | payment::State::Cancelled => Self::NotCaptured,
        }
    }

    /// A refund's.
    pub fn of_refund(state: &refund::State) -> Self {
        match state {
            refund::State::Pending | refund::State::Unknown => Self::RefundOpen,
            refund::State::Succeeded { .. } => Self::Refunded,
            refund::State::Failed { .. } => Self::NotRefunded,
        }
    }
}

/// What a person's answer does to our books.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// They are settled as if the processor itself had said so.
    Settle(Outcome),
    /// They say so already: the question is closed, and no more.
    Close,
}

/// Stands as the code of what a person has declared not to have been done.
const BY_REVIEW: &str = "by_review";

/// What the answer means, by what the books say; or what to do instead. `processor_id` is the processor's name of the
/// payment intent or refund that the person found there.
pub fn effect(
    standing: Standing,
    resolution: Resolution,
    processor_id: Option<&str>,
) -> Result<Effect, &'static str> {
    use Resolution as R;
    use Standing as S;

    let done = || {
        let receipt = |id: &str| ProcessorReference { id: id.to_owned(), charge: None, fee: None };
        let found = processor_id.map(|id| Effect::Settle(Outcome::Succeeded(receipt(id))));
        found
            .ok_or("name what you found at the processor: --processor-id pi_… of a payment, re_… of a refund")
    };
    let not_done = || Effect::Settle(Outcome::Declined { code: BY_REVIEW.to_owned() });
    match (standing, resolution) {
        (S::Open, R::Captured) | (S::RefundOpen, R::Refunded) => done(),
        (S::Open, R::NotCaptured) | (S::RefundOpen | S::Refunded, R::Captured) => Ok(not_done()),
        // Of a refund that failed: the payer has the money by another way, and these books hold the processor's alone.
        (S::Captured | S::NotRefunded, R::Captured)
        | (S::NotCaptured, R::NotCaptured)
        | (S::NotCaptured | S::Refunded | S::NotRefunded | S::Orphan, R::Refunded) => Ok(Effect::Close),
        (S::Open, R::Refunded) => Err(
            "first say --as captured with --processor-id; then the books know the money, and a refund of it is \
             asked for at POST /v1/payments/{id}/refunds, or follows by itself if its order is cancelled",
        ),
        (S::Captured, R::NotCaptured) => Err(
            "a capture that was told is not taken back: look for it at the processor again, and say --as captured \
             once it is there; if the processor has lost it, that is the processor's debt",
        ),
        (S::Captured, R::Refunded) => Err(
            "the books learn of a refund by making it: ask for it at POST /v1/payments/{id}/refunds, then say \
             --as captured",
        ),
        (S::NotCaptured, R::Captured) => Err(
            "the payment has ended and everybody was told so: give the money back at the processor, then say \
             --as refunded",
        ),
        (S::Untried, R::Captured | R::NotCaptured | R::Refunded) => {
            Err("nothing has been sent for this payment yet: the worker goes on with it by itself")
        }
        (S::RefundOpen | S::Refunded | S::NotRefunded, R::NotCaptured) => Err(
            "this is about a refund: say --as refunded if the payer has the money back, --as captured if not",
        ),
        (S::Orphan, R::Captured | R::NotCaptured) => Err(
            "nobody here asked for this: give the money back at the processor, then say --as refunded; to a refund \
             that nobody asked for, the same",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    enum Means {
        Done,
        NotDone,
        Close,
        Refused,
    }

    fn means(standing: Standing, resolution: Resolution) -> Means {
        match effect(standing, resolution, Some("pi_1")) {
            Ok(Effect::Settle(Outcome::Succeeded(receipt))) if receipt.id == "pi_1" => Means::Done,
            Ok(Effect::Settle(Outcome::Declined { code })) if code == BY_REVIEW => Means::NotDone,
            Ok(Effect::Settle(other)) => panic!("settled as {other}"),
            Ok(Effect::Close) => Means::Close,
            Err(_) => Means::Refused,
        }
    }

    #[test]
    fn what_an_answer_means_is_one_table() {
        use Means::{Close, Done, NotDone, Refused};
        let table = [
            //                      captured not captured refunded
            (Standing::Open, [Done, NotDone, Refused]),
            (Standing::Captured, [Close, Refused, Refused]),
            (Standing::NotCaptured, [Refused, Close, Close]),
            (Standing::Untried, [Refused, Refused, Refused]),
            (Standing::RefundOpen, [NotDone, Refused, Done]),
            (Standing::Refunded, [NotDone, Refused, Close]),
            (Standing::NotRefunded, [Close, Refused, Close]),
            (Standing::Orphan, [Refused, Refused, Close]),
        ];
        for (standing, row) in table {
            let meant = Resolution::ALL.map(|resolution| means(standing, resolution));
            assert_eq!(meant, row, "{standing:?}");
        }
    }

    #[test]
    fn what_was_found_must_be_named() {
        for (standing, resolution) in
            [(Standing::Open, Resolution::Captured), (Standing::RefundOpen, Resolution::Refunded)]
        {
            assert!(effect(standing, resolution, None).unwrap_err().contains("--processor-id"));
        }
    }

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
