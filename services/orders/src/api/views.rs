//! An order, as clients see it.

use chrono::{DateTime, Utc};
use contracts::events::CancelReason;
use contracts::{Money, OrderId, PaymentId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{PlacedLine, State};
use crate::store::orders::OrderRow;

/// Where an order is. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderStatus {
    /// Its stock is being reserved.
    Pending,
    /// Its stock is held; the charge is under way.
    AwaitingPayment,
    /// Paid; its stock ships.
    Confirmed,
    /// It will not be fulfilled; `cancellation` says why.
    Cancelled,
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Cancellation {
    /// Who or what ended it.
    pub(crate) reason: CancelReason,
    /// The customer's words; null if it was not the customer.
    #[schema(required)]
    pub(crate) note: Option<String>,
}

/// An order.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Order)]
pub(crate) struct OrderView {
    /// Its id.
    pub(crate) id: OrderId,
    /// Where it is.
    pub(crate) status: OrderStatus,
    /// Why it was cancelled; null if it was not.
    #[schema(required)]
    pub(crate) cancellation: Option<Cancellation>,
    /// What was ordered, at the prices of that moment.
    pub(crate) lines: Vec<PlacedLine>,
    /// What it costs.
    pub(crate) total: Money,
    /// The client's own reference; null if it gave none.
    #[schema(required)]
    pub(crate) reference: Option<String>,
    /// Its payment; null until one is asked for.
    #[schema(required)]
    pub(crate) payment_id: Option<PaymentId>,
    /// Raised by every change.
    pub(crate) version: i64,
    /// When it was placed.
    pub(crate) placed_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
    /// When it is cancelled if it is not confirmed by then.
    pub(crate) expires_at: Timestamp,
}

/// A time of the database, as JSON has it.
pub(crate) fn time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_rfc3339(database::time::to_rfc3339(at))
}

impl TryFrom<OrderRow> for OrderView {
    type Error = database::Error;

    fn try_from(row: OrderRow) -> Result<Self, Self::Error> {
        let (status, cancellation) = match row.state()? {
            State::Pending => (OrderStatus::Pending, None),
            State::AwaitingPayment => (OrderStatus::AwaitingPayment, None),
            State::Confirmed => (OrderStatus::Confirmed, None),
            State::Cancelled { reason, note } => {
                (OrderStatus::Cancelled, Some(Cancellation { reason, note }))
            }
        };
        Ok(Self {
            id: row.id(),
            status,
            cancellation,
            lines: row.lines()?,
            total: row.total()?,
            payment_id: row.payment_id.map(PaymentId::from),
            version: row.sequence,
            placed_at: time(row.placed_at),
            updated_at: time(row.updated_at),
            expires_at: time(row.expires_at),
            reference: row.reference,
        })
    }
}
