//! Two books about the same money, brought into one form: an entry is the processor's, a row is ours.

use chrono::{DateTime, Utc};
use contracts::{PaymentId, TenantId};
use uuid::Uuid;

use crate::processor::Listed;

/// Which way the money goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A payment intent there, a payment here.
    Charge,
    /// A refund.
    Refund,
}

/// Whether the money has moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// It has.
    Yes,
    /// It has not, and by this it never will.
    No,
    /// Not known yet.
    Open,
}

/// A payment intent or a refund, as the processor lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    /// The processor's name of it.
    pub(crate) id: String,
    /// Our deployment's name stands on it.
    pub(crate) is_marked: bool,
    /// Ours of what asked for it, as far as it can be one.
    pub(crate) reference: Option<Uuid>,
    /// Of a refund: the payment intent.
    pub(crate) parent: Option<String>,
    pub(crate) amount: i64,
    /// As ISO 4217 writes it.
    pub(crate) currency: String,
    pub(crate) moved: Moved,
    pub(crate) created: Option<DateTime<Utc>>,
}

impl Entry {
    pub(crate) fn of(kind: Kind, listed: Listed, deployment: &str) -> Self {
        let is_marked = listed.deployment.as_deref() == Some(deployment);
        let reference = listed.reference.as_deref().filter(|_| is_marked);
        let moved = moved(kind, &listed.status);
        Self {
            kind,
            is_marked,
            reference: reference.and_then(|text| text.parse().ok()),
            parent: listed.payment_intent.filter(|_| kind == Kind::Refund),
            amount: listed.received.filter(|_| moved == Moved::Yes).unwrap_or(listed.amount),
            currency: listed.currency.to_ascii_uppercase(),
            moved,
            created: listed.created,
            id: listed.id,
        }
    }
}

/// A status that is not known says nothing.
fn moved(kind: Kind, status: &str) -> Moved {
    match (kind, status) {
        (Kind::Charge | Kind::Refund, "succeeded") => Moved::Yes,
        (Kind::Charge, "canceled" | "requires_payment_method" | "requires_confirmation")
        | (Kind::Refund, "canceled" | "failed") => Moved::No,
        (Kind::Charge | Kind::Refund, _) => Moved::Open,
    }
}

/// A payment or a refund, as it stands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) kind: Kind,
    /// Its id, and that of its intent.
    pub(crate) id: Uuid,
    pub(crate) payment: PaymentId,
    pub(crate) tenant: TenantId,
    pub(crate) amount: i64,
    /// As ISO 4217 writes it.
    pub(crate) currency: String,
    pub(crate) moved: Moved,
    /// Its first attempt has not ended yet.
    pub(crate) under_way: bool,
    /// The processor's name of it, if it was told.
    pub(crate) object: Option<String>,
    /// It was asked for within the window, and has not changed since the processor's books were opened: whatever it
    /// says, they had it.
    pub(crate) must_be_listed: bool,
}
