//! What one attempt has shown, and nothing more. What follows from it depends on the attempts before.

use std::fmt;
use std::time::Duration;

use contracts::Currency;

use super::Next;
use super::review::Reason;

/// The outcome of one attempt at the processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, by this attempt or by an earlier one under the same key.
    Succeeded(ProcessorReference),
    /// The card's bank, or the processor, said no; nothing is taken or given under this key any more.
    Declined {
        /// The reason, for instance `generic_decline`.
        code: String,
    },
    /// Not a byte reached the processor.
    NotSent,
    /// The processor answered that it did nothing this time (401, 403, 409, 429).
    NotExecuted {
        /// The HTTP status.
        status: u16,
        /// How long the processor asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The request is wrong (400, 404), and always will be.
    Rejected {
        /// The reason, for instance `resource_missing`.
        code: String,
        /// It is the key's stored answer, so nothing else ever happened under the key.
        replayed: bool,
    },
    /// The processor has taken it on and does not know the result yet. Asked again, it would repeat this for ever: the
    /// result is looked up.
    Processing {
        /// The processor's name of it, if it was named.
        object: Option<String>,
    },
    /// It waits for the customer, who is not there.
    RequiresAction {
        /// The processor's intent that waits.
        intent: String,
    },
    /// It may have been done, or not.
    Unknown(Doubt),
}

/// The processor's own names of what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorReference {
    /// Of the payment intent or the refund.
    pub id: String,
    /// Of the charge that was made or refunded, if it was named.
    pub charge: Option<String>,
    /// What the processor keeps for it, if that is known yet. Of a refund: never.
    pub fee: Option<Fee>,
}

/// What the processor keeps of a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fee {
    /// The processor's name of the balance transaction that says so.
    pub balance_transaction: String,
    /// In minor units of its currency.
    pub amount: i64,
    /// Of the account, which need not be the charge's.
    pub currency: Currency,
}

/// Why an outcome is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The request went out, and no whole answer came back.
    NoAnswer,
    /// The processor failed (5xx): before, while or after it acted.
    ServerError {
        /// The HTTP status.
        status: u16,
        /// It is the key's stored answer, and will be the same each time.
        replayed: bool,
    },
    /// The answer is not one of the protocol's.
    Unreadable {
        /// The HTTP status.
        status: u16,
    },
    /// The answer is about another amount or another currency.
    OtherAmount,
    /// The processor says that the key was used for another request: a mistake of ours.
    KeyMismatch,
    /// The processor has taken or given the money more than once under our reference.
    DoneTwice,
}

impl Doubt {
    /// What follows: the key is asked again, or the processor's books, or people.
    pub(super) fn follow_up(self) -> (Next, Option<Reason>) {
        match self {
            Self::NoAnswer | Self::ServerError { replayed: false, .. } | Self::Unreadable { .. } => {
                (Next::Retry { in_doubt: true }, None)
            }
            // The key would repeat its failure for ever.
            Self::ServerError { replayed: true, .. } => (Next::LookLater { in_vain: false }, None),
            Self::OtherAmount => (Next::Rest, Some(Reason::OtherAmount)),
            Self::KeyMismatch => (Next::Rest, Some(Reason::KeyMismatch)),
            Self::DoneTwice => (Next::Rest, Some(Reason::Contradicted)),
        }
    }
}

impl Outcome {
    /// Whether it tells how the key ended, for every attempt that was or will be made under it.
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

    /// Whether it says that what was recorded as done under this name of the processor was not done, or is another.
    pub(super) fn denies_success(&self, id: &str) -> bool {
        self.is_authoritative() && !matches!(self, Self::Succeeded(receipt) if receipt.id == id)
    }

    /// Whether it proves that this attempt had no effect and left nothing under the key.
    ///
    /// 409 proves the first and not the second: another request with our key is under way, and nobody knows whose.
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

    /// What follows where it does not say how the key ended.
    pub(super) fn follow_up(&self) -> (Next, Option<Reason>) {
        match self {
            Self::Unknown(doubt) => doubt.follow_up(),
            Self::Processing { .. } => (Next::LookLater { in_vain: false }, None),
            Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { replayed: false, .. }
            | Self::RequiresAction { .. } => (Next::Retry { in_doubt: true }, None),
            Self::Succeeded(_) | Self::Declined { .. } | Self::Rejected { replayed: true, .. } => {
                (Next::Rest, None)
            }
        }
    }

    /// What follows where the processor's books say this: they are looked at again, or people look.
    pub(super) fn found_open(&self) -> (Next, Option<Reason>) {
        match self.follow_up() {
            (_, Some(reason)) => (Next::Rest, Some(reason)),
            (_, None) => (Next::LookLater { in_vain: false }, None),
        }
    }

    /// The processor's fee, if it is told.
    pub(super) fn fee(&self) -> Option<&Fee> {
        match self {
            Self::Succeeded(receipt) => receipt.fee.as_ref(),
            Self::Declined { .. }
            | Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { .. }
            | Self::Processing { .. }
            | Self::RequiresAction { .. }
            | Self::Unknown(_) => None,
        }
    }

    /// The processor's name of what this is about, if it was named.
    pub fn object(&self) -> Option<&str> {
        match self {
            Self::Succeeded(receipt) => Some(&receipt.id),
            Self::Processing { object } => object.as_deref(),
            Self::RequiresAction { intent } => Some(intent),
            Self::Declined { .. }
            | Self::NotSent
            | Self::NotExecuted { .. }
            | Self::Rejected { .. }
            | Self::Unknown(_) => None,
        }
    }

    /// How long the processor asks us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::NotExecuted { retry_after, .. } => *retry_after,
            Self::Succeeded(_)
            | Self::Declined { .. }
            | Self::NotSent
            | Self::Rejected { .. }
            | Self::Processing { .. }
            | Self::RequiresAction { .. }
            | Self::Unknown(_) => None,
        }
    }
}

/// For people: what is kept as the latest outcome of an intent.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Succeeded(_) => f.write_str("succeeded"),
            Self::Declined { code } => write!(f, "declined: {code}"),
            Self::NotSent => f.write_str("not sent"),
            Self::NotExecuted { status, .. } => write!(f, "not executed: {status}"),
            Self::Rejected { code, .. } => write!(f, "rejected: {code}"),
            Self::Processing { .. } => f.write_str("processing"),
            Self::RequiresAction { .. } => f.write_str("requires action"),
            Self::Unknown(doubt) => write!(f, "unknown: {doubt}"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer => f.write_str("no answer"),
            Self::ServerError { status, replayed: false } => write!(f, "server error {status}"),
            Self::ServerError { status, replayed: true } => write!(f, "stored server error {status}"),
            Self::Unreadable { status } => write!(f, "unreadable answer with status {status}"),
            Self::OtherAmount => f.write_str("answer about another amount"),
            Self::KeyMismatch => f.write_str("key used for another request"),
            Self::DoneTwice => f.write_str("done more than once"),
        }
    }
}
