//! Payments and refunds in the form of the API.

use chrono::{DateTime, Utc};
use contracts::{Money, OrderId, PaymentId, RefundId};
use envelope::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{payment, refund};
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;

/// The state of a payment. The list is closed: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaymentStatus {
    /// Accepted. No request has reached the processor.
    Requested,
    /// The charge is in progress.
    Capturing,
    /// The card was charged, once.
    Captured,
    /// The charge was declined. The card was not charged.
    Declined,
    /// The outcome is unknown and is being looked up.
    Unknown,
    /// Cancelled or expired. The card was not charged.
    Cancelled,
}

/// The state of a refund. The list is closed: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefundStatus {
    /// Accepted. The amount is not refunded yet.
    Pending,
    /// The amount was refunded, once.
    Succeeded,
    /// The refund failed. Nothing was refunded.
    Failed,
    /// The outcome is unknown and is being looked up.
    Unknown,
}

/// A payment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub(crate) struct PaymentView {
    /// Its id.
    id: PaymentId,
    /// The order that it pays; null without an order.
    #[schema(required)]
    order_id: Option<OrderId>,
    /// The client's own reference; null if there is none.
    #[schema(required)]
    reference: Option<String>,
    /// The amount to charge.
    amount: Money,
    /// The processor's token of the card.
    #[schema(examples("pm_card_visa"))]
    payment_method: String,
    /// Its state.
    status: PaymentStatus,
    /// Why it was declined, for instance `generic_decline`; null if it was not.
    #[schema(required)]
    decline_code: Option<String>,
    /// Its refunds.
    refunds: Vec<RefundView>,
    /// No first attempt at the processor starts after this time.
    expires_at: Timestamp,
    /// When it was accepted.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

/// A refund.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Refund)]
pub(crate) struct RefundView {
    /// Its id.
    id: RefundId,
    /// The payment that it refunds.
    payment_id: PaymentId,
    /// The amount to refund.
    amount: Money,
    /// Its state.
    status: RefundStatus,
    /// The cause: `order_cancelled` for the automatic refund, `requested` for a client's.
    cause: String,
    /// The reason in the client's words; null for the automatic refund.
    #[schema(required)]
    reason: Option<String>,
    /// Why it failed; null if it did not.
    #[schema(required)]
    failure_code: Option<String>,
    /// The failed refund that this one repeats; null if it repeats none.
    #[schema(required)]
    follows: Option<RefundId>,
    /// When it was accepted.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

impl PaymentView {
    /// Makes the view of a payment, with those of `refunds` that belong to it.
    pub(crate) fn new(row: &PaymentRow, refunds: &[RefundRow]) -> database::Result<Self> {
        let (status, decline_code) = match row.state()? {
            payment::State::Requested => (PaymentStatus::Requested, None),
            payment::State::Capturing => (PaymentStatus::Capturing, None),
            payment::State::Captured(_) => (PaymentStatus::Captured, None),
            payment::State::Declined { code } => (PaymentStatus::Declined, Some(code)),
            payment::State::Unknown => (PaymentStatus::Unknown, None),
            payment::State::Cancelled => (PaymentStatus::Cancelled, None),
        };
        let own = refunds.iter().filter(|refund| refund.payment_id == row.id);
        Ok(Self {
            id: row.id(),
            order_id: row.order(),
            reference: row.reference.clone(),
            amount: row.amount()?,
            payment_method: row.payment_method.clone(),
            status,
            decline_code,
            refunds: own.map(|refund| RefundView::new(row, refund)).collect::<database::Result<_>>()?,
            expires_at: time(row.expires_at),
            created_at: time(row.created_at),
            updated_at: time(row.updated_at),
        })
    }
}

impl RefundView {
    /// Makes the view of a refund of this payment.
    pub(crate) fn new(payment: &PaymentRow, row: &RefundRow) -> database::Result<Self> {
        let (status, failure_code) = match row.state()? {
            refund::State::Pending => (RefundStatus::Pending, None),
            refund::State::Succeeded { .. } => (RefundStatus::Succeeded, None),
            refund::State::Failed { code, .. } => (RefundStatus::Failed, Some(code)),
            refund::State::Unknown => (RefundStatus::Unknown, None),
        };
        Ok(Self {
            id: row.id(),
            payment_id: payment.id(),
            amount: payment.in_its_currency(row.amount)?,
            status,
            cause: row.cause.clone(),
            reason: row.reason.clone(),
            failure_code,
            follows: row.follows(),
            created_at: time(row.created_at),
            updated_at: time(row.updated_at),
        })
    }
}

fn time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_rfc3339(database::time::to_rfc3339(at))
}
