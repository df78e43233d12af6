//! The outcome of one attempt at the processor.
//!
//! An outcome describes its own attempt only. What follows depends on the state of the call, which `call::decide` takes into account.

use std::fmt;
use std::time::Duration;

use super::NextStep;
use super::review::Reason;

/// The outcome of one attempt at the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptOutcome {
    /// The charge or refund was made, by this attempt or by an earlier one under the same key.
    Succeeded(ProcessorReference),
    /// The card's bank or the processor declined. Nothing will be charged or refunded under this key.
    Declined {
        /// The reason, for instance `generic_decline`.
        code: String,
    },
    /// No byte reached the processor.
    NotSent,
    /// The processor responded that this attempt had no effect (401, 403, 409, 429).
    NotExecuted {
        /// The HTTP status.
        status: u16,
        /// How long the processor asks the client to wait.
        retry_after: Option<Duration>,
    },
    /// The processor does not accept the request (400, 404). A retry would not be accepted either.
    Rejected {
        /// The reason, for instance `resource_missing`.
        code: String,
        /// The response is the stored one of the key, so no other request under the key took effect.
        replayed: bool,
    },
    /// The processor has accepted the request and does not know its result yet. Because the key would repeat this
    /// response, the result is looked up.
    Processing {
        /// The processor's id of the object, if the response named it.
        object: Option<String>,
    },
    /// The `PaymentIntent` waits for the customer, who is not present.
    RequiresAction {
        /// The id of the `PaymentIntent`.
        payment_intent: String,
    },
    /// The request may have taken effect or not.
    Unknown(UnknownReason),
}

/// The processor's ids of a charge or refund that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorReference {
    /// The id of the `PaymentIntent` or the refund.
    pub id: String,
    /// The id of the charge that was made or refunded, if the response named it.
    pub charge: Option<String>,
    /// The processor's fee, if it is known yet. A refund has none.
    pub fee: Option<Fee>,
}

/// The processor's fee for a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// The id of the processor's balance transaction for the charge.
    pub balance_transaction: String,
    /// Minor units of the currency below.
    pub amount: i64,
    /// The processor's name of our account's currency, upper case. It may be a currency that this service does not know.
    pub currency: String,
}

/// Why the outcome of an attempt is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownReason {
    /// The request was sent, and no complete response arrived.
    NoResponse,
    /// The processor failed (5xx), before or after the request took effect.
    ServerError {
        /// The HTTP status.
        status: u16,
        /// The response is the stored one of the key. A retry would return it again.
        replayed: bool,
    },
    /// The response does not follow the processor's protocol.
    Unreadable {
        /// The HTTP status.
        status: u16,
    },
    /// The response names another amount or currency than the request.
    AmountMismatch,
    /// The processor reports that the key was used for another request. This is a mistake in this service.
    KeyMismatch,
    /// The processor made more than one charge or refund for one of our ids.
    Duplicate,
}

impl UnknownReason {
    /// Decides what follows: a retry under the key, a lookup, or a review.
    pub(super) fn follow_up(self) -> (NextStep, Option<Reason>) {
        match self {
            Self::NoResponse | Self::ServerError { replayed: false, .. } | Self::Unreadable { .. } => {
                (NextStep::RetryLater { may_have_arrived: true }, None)
            }
            // The key would return this failure again.
            Self::ServerError { replayed: true, .. } => {
                (NextStep::LookupLater { found_nothing: false }, None)
            }
            Self::AmountMismatch => (NextStep::Stop, Some(Reason::OtherAmount)),
            Self::KeyMismatch => (NextStep::Stop, Some(Reason::KeyMismatch)),
            Self::Duplicate => (NextStep::Stop, Some(Reason::Contradicted)),
        }
    }
}

impl AttemptOutcome {
    /// Returns whether this outcome holds for every past and future attempt under the key.
    pub fn is_authoritative(&self) -> bool {
        match self {
            Self::Succeeded(_) | Self::Declined { .. } | Self::Rejected { replayed: true, .. } => true,
            Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { replayed: false, .. }
            | Self::Processing { .. }
            | Self::RequiresAction { .. }
            | Self::Unknown(_) => false,
        }
    }

    /// Returns whether this outcome denies a recorded success with the processor's id `id`.
    pub(super) fn denies_success(&self, id: &str) -> bool {
        self.is_authoritative() && !matches!(self, Self::Succeeded(reference) if reference.id == id)
    }

    /// Returns whether this is a success, and not that of the object with the processor's id `id`.
    pub(super) fn is_success_of_another(&self, id: Option<&str>) -> bool {
        matches!(self, Self::Succeeded(reference) if Some(reference.id.as_str()) != id)
    }

    /// Returns whether this attempt had no effect and stored nothing under the key, provably.
    ///
    /// A 409 does not prove that. The attempt had no effect, but another request under the key is being processed.
    pub fn leaves_nothing(&self) -> bool {
        match self {
            Self::NotSent => true,
            Self::NotExecuted { status, .. } => *status != 409,
            Self::Succeeded(_)
            | Self::Declined { .. }
            | Self::Rejected { .. }
            | Self::Processing { .. }
            | Self::RequiresAction { .. }
            | Self::Unknown(_) => false,
        }
    }

    /// Decides what follows an outcome that does not end the call.
    pub(super) fn follow_up(&self) -> (NextStep, Option<Reason>) {
        match self {
            Self::Unknown(reason) => reason.follow_up(),
            Self::Processing { .. } => (NextStep::LookupLater { found_nothing: false }, None),
            Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { replayed: false, .. }
            | Self::RequiresAction { .. } => (NextStep::RetryLater { may_have_arrived: true }, None),
            Self::Succeeded(_) | Self::Declined { .. } | Self::Rejected { replayed: true, .. } => {
                (NextStep::Stop, None)
            }
        }
    }

    /// Decides what follows a lookup that found an object in this state: another lookup, or a review.
    pub(super) fn found_open(&self) -> (NextStep, Option<Reason>) {
        match self.follow_up() {
            (_, Some(reason)) => (NextStep::Stop, Some(reason)),
            (_, None) => (NextStep::LookupLater { found_nothing: false }, None),
        }
    }

    /// Returns the processor's fee, if the response named it.
    pub(super) fn fee(&self) -> Option<&Fee> {
        if let Self::Succeeded(reference) = self { reference.fee.as_ref() } else { None }
    }

    /// Returns the processor's id of the object, if the response named it.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Succeeded(reference) => Some(&reference.id),
            Self::Processing { object } => object.as_deref(),
            Self::RequiresAction { payment_intent } => Some(payment_intent),
            Self::Declined { .. }
            | Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { .. }
            | Self::Unknown(_) => None,
        }
    }

    /// Returns how long the processor asks the client to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        if let Self::NotExecuted { retry_after, .. } = self { *retry_after } else { None }
    }
}

/// The text that is stored as the latest outcome of the call, for operators.
impl fmt::Display for AttemptOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded(_) => f.write_str("succeeded"),
            Self::Declined { code } => write!(f, "declined: {code}"),
            Self::NotSent => f.write_str("not sent"),
            Self::NotExecuted { status, .. } => write!(f, "not executed: {status}"),
            Self::Rejected { code, .. } => write!(f, "rejected: {code}"),
            Self::Processing { .. } => f.write_str("processing"),
            Self::RequiresAction { .. } => f.write_str("requires action"),
            Self::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponse => f.write_str("no response"),
            Self::ServerError { status, replayed: false } => write!(f, "server error {status}"),
            Self::ServerError { status, replayed: true } => write!(f, "stored server error {status}"),
            Self::Unreadable { status } => write!(f, "unreadable response with status {status}"),
            Self::AmountMismatch => f.write_str("response with another amount"),
            Self::KeyMismatch => f.write_str("key used for another request"),
            Self::Duplicate => f.write_str("done more than once"),
        }
    }
}
