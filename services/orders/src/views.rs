//! The JSON that clients read: orders, timelines and catalogue entries.
//!
//! The domain has no JSON, so its enums are repeated here. Because of `serde(remote)`, a list that differs from the domain's does
//! not compile.

use chrono::{DateTime, Utc};
use contracts::events::CancelReason;
use contracts::{ItemId, Money, OrderId, PaymentId, Sku};
use envelope::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::{CauseKind, EntryKind, State, Status};
use crate::store::catalogue::ItemRow;
use crate::store::orders::{OrderRow, StoredLine};
use crate::store::timeline::EntryRow;

/// An order.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Order)]
pub(crate) struct OrderView {
    /// The order's id.
    pub(crate) id: OrderId,
    /// The order's status.
    #[serde(with = "OrderStatusView")]
    #[schema(value_type = OrderStatusView)]
    pub(crate) status: Status,
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
#[derive(Deserialize, Serialize, ToSchema)]
#[schema(as = OrderStatus)]
#[serde(remote = "Status", rename_all = "snake_case")]
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
    #[serde(with = "EntryKindView")]
    #[schema(value_type = EntryKindView)]
    what: EntryKind,
    /// The status of the order after the event. An event after the end of the order leaves the status unchanged.
    #[serde(with = "OrderStatusView")]
    #[schema(value_type = OrderStatusView)]
    state: Status,
    /// The request, message or job that caused the event.
    cause: CauseView,
}

/// The event that a timeline entry reports. A closed list: a new value means a new version of the API.
#[derive(Serialize, ToSchema)]
#[schema(as = What)]
#[serde(remote = "EntryKind")]
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
    #[serde(with = "CauseKindView")]
    #[schema(value_type = CauseKindView)]
    kind: CauseKind,
    /// The id of the request's or job's operation, or of the message.
    id: Uuid,
    /// The client that sent the request, the service that sent the message, or `@system` for a job.
    #[schema(examples("inventory"))]
    by: String,
}

/// The kind of a cause. A closed list: a new value means a new version of the API.
#[derive(Serialize, ToSchema)]
#[schema(as = CauseKind)]
#[serde(remote = "CauseKind", rename_all = "snake_case")]
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
        let line = |StoredLine { sku, quantity, unit_price }| LineView { sku, quantity, unit_price };
        Ok(Self {
            id: row.id(),
            status: Status::from(&state),
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

impl TimelineView {
    pub(crate) fn new(order_id: OrderId, rows: Vec<EntryRow>) -> Self {
        let entries = (1..).zip(rows).map(|(sequence, row)| TimelineEntryView::new(sequence, row));
        Self { order_id, entries: entries.collect() }
    }
}

impl TimelineEntryView {
    fn new(sequence: i64, row: EntryRow) -> Self {
        Self {
            sequence,
            at: time(row.at),
            what: row.what,
            state: row.state,
            cause: CauseView { kind: row.cause_kind, id: row.cause_id, by: row.cause_by },
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
