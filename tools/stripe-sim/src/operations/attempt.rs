//! The outcome of an attempt to charge a card, and the words that the objects and events have for it.

use super::cards::{Card, Decline};
use crate::bank::Decision;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptOutcome {
    Charged,
    /// The amount is reserved until it is captured.
    Authorized,
    /// The bank decides later.
    Processing(Decision),
    Declined(Decline),
}

impl AttemptOutcome {
    /// Charges the card. With `manual`, the capture is a request of its own.
    pub(super) fn of(card: Card, manual: bool) -> Self {
        match card {
            Card::Declines(decline) => Self::Declined(decline),
            _ if manual => Self::Authorized,
            Card::Processes(decision) => Self::Processing(decision),
            Card::Charges | Card::ChargesWithoutReply | Card::ChargesSlowly | Card::Refunds(_) => {
                Self::Charged
            }
        }
    }

    pub(super) fn decline(self) -> Option<Decline> {
        if let Self::Declined(decline) = self { Some(decline) } else { None }
    }

    pub(super) fn status_of_intent(self) -> &'static str {
        match self {
            Self::Charged => "succeeded",
            Self::Authorized => "requires_capture",
            Self::Processing(_) => "processing",
            Self::Declined(_) => "requires_payment_method",
        }
    }

    pub(super) fn status_of_charge(self) -> &'static str {
        match self {
            Self::Charged | Self::Authorized => "succeeded",
            Self::Processing(_) => "pending",
            Self::Declined(_) => "failed",
        }
    }

    pub(super) fn event(self) -> &'static str {
        match self {
            Self::Charged => "payment_intent.succeeded",
            Self::Authorized => "payment_intent.amount_capturable_updated",
            Self::Processing(_) => "payment_intent.processing",
            Self::Declined(_) => "payment_intent.payment_failed",
        }
    }
}
