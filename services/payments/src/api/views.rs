//! Payments and refunds, as clients see them.

use chrono::{DateTime, Utc};
use contracts::{Money, OrderId, PaymentId, RefundId, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{payment, refund};
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;

/// Where a payment is. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PaymentStatus {
    /// Accepted; nothing has reached the processor.
    Requested,
    /// The processor is being asked.
    Capturing,
    /// The money was taken, once.
    Captured,
    /// The processor refused; nothing was taken.
    Declined,
    /// Whether the money was taken is being found out.
    Unknown,
    /// Called off; nothing was taken.
    Cancelled,
}

/// Where a refund is. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefundStatus {
    /// Accepted; the money is not given back yet.
    Pending,
    /// The money was given back, once.
    Succeeded,
    /// The processor refused; nothing was given back.
    Failed,
    /// Whether the money was given back is being found out.
    Unknown,
}

/// A payment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Payment)]
pub(crate) struct PaymentView {
    /// Its id.
    id: PaymentId,
    /// The order that it pays; null if it pays none.
    #[schema(required)]
    order_id: Option<OrderId>,
    /// The client's own name for it; null if it has none.
    #[schema(required)]
    reference: Option<String>,
    /// How much is taken.
    amount: Money,
    /// The processor's token of the card.
    #[schema(examples("pm_card_visa"))]
    payment_method: String,
    /// Where it is.
    status: PaymentStatus,
    /// Why it was declined, for instance `generic_decline`; null if it was not.
    #[schema(required)]
    decline_code: Option<String>,
    /// What of it was given back.
    refunds: Vec<RefundView>,
    /// No first attempt at the processor is made after this.
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
    /// The payment that it gives back.
    payment_id: PaymentId,
    /// How much is given back.
    amount: Money,
    /// Where it is.
    status: RefundStatus,
    /// Why: `order_cancelled` if nobody asked for it, `requested` if a client did.
    cause: String,
    /// Why, in the client's words; null if nobody asked for it.
    #[schema(required)]
    reason: Option<String>,
    /// Why it failed; null if it did not.
    #[schema(required)]
    failure_code: Option<String>,
    /// When it was accepted.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

impl PaymentView {
    /// A payment with those of these refunds that are its own.
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
    /// A refund of this payment.
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
            created_at: time(row.created_at),
            updated_at: time(row.updated_at),
        })
    }
}

fn time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_rfc3339(database::time::to_rfc3339(at))
}
