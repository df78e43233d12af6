//! A request to the processor, and its response.

use std::time::Duration;

use contracts::Money;

/// A movement of money that the processor is requested to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// A charge of this amount.
    Charge(Money),
    /// A refund of this amount.
    Refund(Money),
}

impl Movement {
    pub(super) fn amount(self) -> Money {
        match self {
            Self::Charge(amount) | Self::Refund(amount) => amount,
        }
    }

    /// The path of the processor's objects for this movement.
    pub(super) fn collection(self) -> &'static str {
        match self {
            Self::Charge(_) => "payment_intents",
            Self::Refund(_) => "refunds",
        }
    }
}

/// The response to one request, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessorResponse {
    /// No connection was made, so no byte was sent.
    NotSent,
    /// The request may have been sent. No complete response arrived.
    Lost,
    /// A complete response.
    Received {
        /// The HTTP status.
        status: u16,
        /// It is the stored response of the key (`Idempotent-Replayed`).
        replayed: bool,
        /// `Retry-After`, if it is a number of seconds.
        retry_after: Option<Duration>,
        /// The body.
        body: Vec<u8>,
    },
}

impl ProcessorResponse {
    /// Reports whether this response shows a healthy processor. A replayed failure says nothing about its present state.
    pub(super) fn shows_health(&self) -> bool {
        match self {
            Self::NotSent | Self::Lost => false,
            Self::Received { status, replayed, .. } => *status < 500 || *replayed,
        }
    }
}
