//! The words of an order's timeline: what an entry reports, and what caused it.

use envelope::{Caller, Envelope, OperationId};
use strum::{EnumString, IntoStaticStr};
use uuid::Uuid;

use super::{Announcement, Input};

/// The event of a timeline entry: an event that `orders` announced, or one that it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
pub enum EntryKind {
    /// The order was placed.
    OrderPlaced,
    /// `orders` asked payments to charge the customer.
    PaymentRequested,
    /// The order was confirmed.
    OrderConfirmed,
    /// The order was cancelled.
    OrderCancelled,
    /// [`Input::StockReserved`]
    StockReserved,
    /// [`Input::StockRejected`]
    StockRejected,
    /// [`Input::StockShipped`]
    StockShipped,
    /// [`Input::StockReleased`]
    StockReleased,
    /// [`Input::PaymentCaptured`]
    PaymentCaptured,
    /// [`Input::PaymentDeclined`]
    PaymentDeclined,
    /// [`Input::PaymentCancelled`]
    PaymentCancelled,
    /// [`Input::PaymentRefunded`]
    PaymentRefunded,
    /// [`Input::PaymentRefundFailed`]
    PaymentRefundFailed,
}

impl EntryKind {
    /// The entry for a received event. A cancellation or an expiry has none: the entry of its announcement says it.
    pub fn of_input(input: &Input) -> Option<Self> {
        match input {
            Input::StockReserved => Some(Self::StockReserved),
            Input::StockRejected => Some(Self::StockRejected),
            Input::StockShipped => Some(Self::StockShipped),
            Input::StockReleased => Some(Self::StockReleased),
            Input::PaymentCaptured => Some(Self::PaymentCaptured),
            Input::PaymentDeclined => Some(Self::PaymentDeclined),
            Input::PaymentCancelled => Some(Self::PaymentCancelled),
            Input::PaymentRefunded => Some(Self::PaymentRefunded),
            Input::PaymentRefundFailed => Some(Self::PaymentRefundFailed),
            Input::Cancel(_) | Input::Expire => None,
        }
    }

    /// The entry for an announced event.
    pub fn of_announcement(announcement: Announcement) -> Self {
        match announcement {
            Announcement::PaymentRequested => Self::PaymentRequested,
            Announcement::OrderConfirmed => Self::OrderConfirmed,
            Announcement::OrderCancelled(_) => Self::OrderCancelled,
        }
    }
}

/// The kind of a [`Cause`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CauseKind {
    /// A client's request.
    Request,
    /// An event of another service.
    Message,
    /// A job of this service.
    Job,
}

/// The cause of a timeline entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Request, message or job.
    pub kind: CauseKind,
    /// The id of the request's or job's operation, or of the message.
    pub id: Uuid,
    /// The client, the service that sent the message, or `@system` for a job.
    pub by: String,
}

impl Cause {
    /// A request of this client.
    pub fn request(operation: OperationId, caller: &Caller) -> Self {
        Self { kind: CauseKind::Request, id: operation.uuid(), by: caller.client.to_string() }
    }

    /// A message of another service.
    pub fn message(envelope: &Envelope) -> Self {
        Self { kind: CauseKind::Message, id: envelope.id.uuid(), by: envelope.source.clone() }
    }

    /// A job; the caller is the system.
    pub fn job(operation: OperationId, caller: &Caller) -> Self {
        Self { kind: CauseKind::Job, id: operation.uuid(), by: caller.client.to_string() }
    }
}
