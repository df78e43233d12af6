//! What happened to an order, and what brought it about: one entry for each thing told and each message heard, also
//! for those that came too late to change anything.

use contracts::Envelope;
use edge::CommandRequest;
use idempotency::Operation;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::domain::{Input, Tell};

/// Something that happened to an order. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) enum What {
    /// It was accepted.
    OrderPlaced,
    /// Its stock is held; the charge was asked for.
    PaymentRequested,
    /// It was paid.
    OrderConfirmed,
    /// It will not be fulfilled.
    OrderCancelled,
    /// inventory holds its stock.
    StockReserved,
    /// inventory has too little.
    StockRejected,
    /// inventory has shipped it.
    StockShipped,
    /// inventory has taken its stock back.
    StockReleased,
    /// payments has the money.
    PaymentCaptured,
    /// The card was declined.
    PaymentDeclined,
    /// payments called the charge off.
    PaymentCancelled,
    /// payments has given the money back.
    PaymentRefunded,
}

impl What {
    /// As the table has it; the same word as in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OrderPlaced => "OrderPlaced",
            Self::PaymentRequested => "PaymentRequested",
            Self::OrderConfirmed => "OrderConfirmed",
            Self::OrderCancelled => "OrderCancelled",
            Self::StockReserved => "StockReserved",
            Self::StockRejected => "StockRejected",
            Self::StockShipped => "StockShipped",
            Self::StockReleased => "StockReleased",
            Self::PaymentCaptured => "PaymentCaptured",
            Self::PaymentDeclined => "PaymentDeclined",
            Self::PaymentCancelled => "PaymentCancelled",
            Self::PaymentRefunded => "PaymentRefunded",
        }
    }

    /// What is heard, if this input is news from another service; a request is none, only what comes of it.
    pub(crate) fn heard(input: &Input) -> Option<Self> {
        match input {
            Input::StockReserved => Some(Self::StockReserved),
            Input::StockRejected => Some(Self::StockRejected),
            Input::StockShipped => Some(Self::StockShipped),
            Input::StockReleased => Some(Self::StockReleased),
            Input::Captured(_) => Some(Self::PaymentCaptured),
            Input::Declined => Some(Self::PaymentDeclined),
            Input::PaymentCancelled => Some(Self::PaymentCancelled),
            Input::Refunded => Some(Self::PaymentRefunded),
            Input::Cancel(_) | Input::Expire => None,
        }
    }

    /// What the others are told.
    pub(crate) fn told(tell: Tell) -> Self {
        match tell {
            Tell::PaymentRequested => Self::PaymentRequested,
            Tell::Confirmed => Self::OrderConfirmed,
            Tell::Cancelled(_) => Self::OrderCancelled,
        }
    }
}

/// What kind of thing brought it about. A closed list: a new value is a new version of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKind {
    /// A client's command.
    Request,
    /// What another service said.
    Message,
    /// What this service does by itself.
    Job,
}

impl CauseKind {
    /// As the table has it; the same word as in JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Message => "message",
            Self::Job => "job",
        }
    }
}

/// What brought an entry about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Cause {
    /// Request, message or job.
    pub(crate) kind: CauseKind,
    /// The operation's id, or the message's.
    pub(crate) id: Uuid,
    /// The client that asked, or the service that spoke; `@system` for a job.
    #[schema(examples("inventory"))]
    pub(crate) by: String,
}

impl Cause {
    /// The command that a handler carries out.
    pub(crate) fn request<W>(request: &CommandRequest<W>) -> Self {
        let by = request.caller().client.to_string();
        Self { kind: CauseKind::Request, id: request.operation().uuid(), by }
    }

    /// What another service said.
    pub(crate) fn message(envelope: &Envelope) -> Self {
        Self { kind: CauseKind::Message, id: envelope.id.uuid(), by: envelope.source.clone() }
    }

    /// A job of our own.
    pub(crate) fn job(operation: &Operation) -> Self {
        let by = operation.caller.client.to_string();
        Self { kind: CauseKind::Job, id: operation.id.uuid(), by }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_words_that_json_has() {
        for what in [
            What::OrderPlaced,
            What::PaymentRequested,
            What::OrderConfirmed,
            What::OrderCancelled,
            What::StockReserved,
            What::StockRejected,
            What::StockShipped,
            What::StockReleased,
            What::PaymentCaptured,
            What::PaymentDeclined,
            What::PaymentCancelled,
            What::PaymentRefunded,
        ] {
            assert_eq!(serde_json::json!(what), what.name());
        }
        for kind in [CauseKind::Request, CauseKind::Message, CauseKind::Job] {
            assert_eq!(serde_json::json!(kind), kind.name());
        }
    }
}
