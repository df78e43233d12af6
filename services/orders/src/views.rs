//! The JSON that clients read: orders, timelines and catalogue entries.

use chrono::{DateTime, Utc};
use contracts::events::CancelReason;
use contracts::{ItemId, Money, OrderId, PaymentId, Sku};
use envelope::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::{CauseKind, EntryKind, PricedLine, State, Status};
use crate::store::catalogue::ItemRow;
use crate::store::orders::OrderRow;
use crate::store::timeline::EntryRow;

/// An order.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Order)]
pub(crate) struct OrderView {
    /// The order's id.
    pub(crate) id: OrderId,
    /// The order's status.
    pub(crate) status: OrderStatusView,
    /// Why the order was cancelled; null if it was not.
    #[schema(required)]
    pub(crate) cancellation: Option<CancellationView>,
    /// The ordered items, at the prices of the moment when the order was placed.
    pub(crate) lines: Vec<LineView>,
    /// The sum of all lines.
    pub(crate) total: Money,
    /// The client's own reference; null if the client gave none.
    #[schema(required)]
    pub(crate) reference: Option<String>,
    /// The order's payment; null until the payment is requested.
    #[schema(required)]
    pub(crate) payment_id: Option<PaymentId>,
    /// Raised by every change of the order.
    pub(crate) version: i64,
    /// When the order was placed.
    pub(crate) placed_at: Timestamp,
    /// When the order last changed.
    pub(crate) updated_at: Timestamp,
    /// An order that is not confirmed by this time is cancelled.
    pub(crate) expires_at: Timestamp,
}

/// The status of an order. A closed list: a new value means a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[schema(as = OrderStatus)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OrderStatusView {
    Pending,
    AwaitingPayment,
    Confirmed,
    Cancelled,
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Cancellation)]
pub(crate) struct CancellationView {
    /// The cause of the cancellation.
    pub(crate) reason: CancelReason,
    /// The customer's words; null unless the customer cancelled.
    #[schema(required)]
    pub(crate) note: Option<String>,
}

/// A line with the price at which it was ordered.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = PlacedLine)]
pub(crate) struct LineView {
    /// The item.
    sku: Sku,
    /// The number of pieces.
    quantity: i64,
    /// The price of one piece when the order was placed.
    unit_price: Money,
}

/// The timeline of an order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Timeline)]
pub(crate) struct TimelineView {
    /// The order.
    order_id: OrderId,
    /// The entries, oldest first.
    entries: Vec<TimelineEntryView>,
}

/// One event in the timeline of an order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TimelineEntry)]
pub(crate) struct TimelineEntryView {
    /// The number of the entry in its timeline, from 1 without gaps.
    #[schema(minimum = 1)]
    sequence: i64,
    /// When the order published or received the event.
    at: Timestamp,
    /// The event.
    what: EntryKindView,
    /// The status of the order after the event. An event after the end of the order leaves the status unchanged.
    state: OrderStatusView,
    /// The request, message or job that caused the event.
    cause: CauseView,
}

/// The event that a timeline entry reports. A closed list: a new value means a new version of the API.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = What)]
pub(crate) enum EntryKindView {
    OrderPlaced,
    PaymentRequested,
    OrderConfirmed,
    OrderCancelled,
    StockReserved,
    StockRejected,
    StockShipped,
    StockReleased,
    PaymentCaptured,
    PaymentDeclined,
    PaymentCancelled,
    PaymentRefunded,
    PaymentRefundFailed,
}

/// What caused a timeline entry.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Cause)]
pub(crate) struct CauseView {
    /// Request, message or job.
    kind: CauseKindView,
    /// The id of the request's or job's operation, or of the message.
    id: Uuid,
    /// The client that sent the request, the service that sent the message, or `@system` for a job.
    #[schema(examples("inventory"))]
    by: String,
}

/// The kind of a cause. A closed list: a new value means a new version of the API.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = CauseKind)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKindView {
    Request,
    Message,
    Job,
}

/// An item in the catalogue, with the price at which orders are placed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogueEntry)]
pub(crate) struct CatalogueEntryView {
    /// The tenant's own name for the item.
    sku: Sku,
    /// The item's id in events.
    item_id: ItemId,
    /// The item's name for people.
    #[schema(examples("Green tea"))]
    name: String,
    /// The price of one piece.
    unit_price: Money,
    /// The version of name and price, as inventory counts it.
    #[schema(minimum = 1)]
    pub(crate) version: i64,
    /// When the catalogue received this version.
    updated_at: Timestamp,
}

/// A time of the database in the form that JSON has.
fn time(at: DateTime<Utc>) -> Timestamp {
    Timestamp::from_rfc3339(database::time::to_rfc3339(at))
}

impl TryFrom<OrderRow> for OrderView {
    type Error = database::Error;

    fn try_from(row: OrderRow) -> Result<Self, Self::Error> {
        let state = row.state()?;
        let line = |PricedLine { sku, quantity, unit_price }| LineView { sku, quantity, unit_price };
        Ok(Self {
            id: row.id(),
            status: state.status().into(),
            cancellation: match state {
                State::Cancelled { reason, note } => Some(CancellationView { reason, note }),
                State::Pending | State::AwaitingPayment | State::Confirmed => None,
            },
            lines: row.lines()?.into_iter().map(line).collect(),
            total: row.total()?,
            payment_id: row.payment(),
            version: row.sequence,
            placed_at: time(row.placed_at),
            updated_at: time(row.updated_at),
            expires_at: time(row.expires_at),
            reference: row.reference,
        })
    }
}

impl From<OrderStatusView> for Status {
    fn from(status: OrderStatusView) -> Self {
        match status {
            OrderStatusView::Pending => Self::Pending,
            OrderStatusView::AwaitingPayment => Self::AwaitingPayment,
            OrderStatusView::Confirmed => Self::Confirmed,
            OrderStatusView::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Status> for OrderStatusView {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::AwaitingPayment => Self::AwaitingPayment,
            Status::Confirmed => Self::Confirmed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

impl TimelineView {
    pub(crate) fn new(order_id: OrderId, rows: Vec<EntryRow>) -> Self {
        let entries = (1..).zip(rows).map(|(sequence, row)| TimelineEntryView::new(sequence, row));
        Self { order_id, entries: entries.collect() }
    }
}

impl TimelineEntryView {
    fn new(sequence: i64, row: EntryRow) -> Self {
        let kind = match row.cause_kind {
            CauseKind::Request => CauseKindView::Request,
            CauseKind::Message => CauseKindView::Message,
            CauseKind::Job => CauseKindView::Job,
        };
        Self {
            sequence,
            at: time(row.at),
            what: row.what.into(),
            state: row.state.into(),
            cause: CauseView { kind, id: row.cause_id, by: row.cause_by },
        }
    }
}

impl From<EntryKind> for EntryKindView {
    fn from(kind: EntryKind) -> Self {
        match kind {
            EntryKind::OrderPlaced => Self::OrderPlaced,
            EntryKind::PaymentRequested => Self::PaymentRequested,
            EntryKind::OrderConfirmed => Self::OrderConfirmed,
            EntryKind::OrderCancelled => Self::OrderCancelled,
            EntryKind::StockReserved => Self::StockReserved,
            EntryKind::StockRejected => Self::StockRejected,
            EntryKind::StockShipped => Self::StockShipped,
            EntryKind::StockReleased => Self::StockReleased,
            EntryKind::PaymentCaptured => Self::PaymentCaptured,
            EntryKind::PaymentDeclined => Self::PaymentDeclined,
            EntryKind::PaymentCancelled => Self::PaymentCancelled,
            EntryKind::PaymentRefunded => Self::PaymentRefunded,
            EntryKind::PaymentRefundFailed => Self::PaymentRefundFailed,
        }
    }
}

impl TryFrom<ItemRow> for CatalogueEntryView {
    type Error = database::Error;

    fn try_from(row: ItemRow) -> Result<Self, Self::Error> {
        Ok(Self {
            sku: row.sku()?,
            item_id: row.item_id.into(),
            unit_price: row.unit_price()?,
            name: row.name,
            version: row.version,
            updated_at: time(row.updated_at),
        })
    }
}
