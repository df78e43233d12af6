//! The two records of the same money, ours and the processor's, and their comparison.

mod compare;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use envelope::TenantId;
use uuid::Uuid;

use super::CallKind;

pub(crate) use compare::{Comparison, Verdict};

/// The state of the money of a charge or refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoneyState {
    /// It has moved.
    Moved,
    /// It has not moved, and this object will never move it.
    NotMoved,
    /// It is not known yet.
    Open,
}

/// A `PaymentIntent` or a refund, as the processor lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessorRecord {
    pub(crate) kind: CallKind,
    /// The processor's id of the object.
    pub(crate) id: String,
    /// Its metadata names this deployment.
    pub(crate) is_tagged: bool,
    /// The id of our payment or refund, if the object is tagged and the reference is an id.
    pub(crate) reference: Option<Uuid>,
    /// Of a refund: the id of its `PaymentIntent`.
    pub(crate) payment_intent: Option<String>,
    /// Minor units.
    pub(crate) amount: i64,
    /// ISO 4217, upper case.
    pub(crate) currency: String,
    pub(crate) money: MoneyState,
    /// By the processor's clock.
    pub(crate) created: Option<DateTime<Utc>>,
}

/// A payment or refund, as our tables hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OurRecord {
    pub(crate) kind: CallKind,
    /// The id of the payment or refund, and of its call.
    pub(crate) id: Uuid,
    pub(crate) payment: PaymentId,
    pub(crate) tenant: TenantId,
    /// Minor units.
    pub(crate) amount: i64,
    /// ISO 4217, upper case.
    pub(crate) currency: String,
    pub(crate) money: MoneyState,
    /// The first attempt has not ended yet.
    pub(crate) in_flight: bool,
    /// The processor's id of the object, if it is known.
    pub(crate) object: Option<String>,
    /// The request was sent within the compared period.
    pub(crate) is_of_period: bool,
    /// The processor's list must contain the object: the request was sent within the compared period, and the row has
    /// not changed since the list was read.
    pub(crate) must_be_listed: bool,
}
