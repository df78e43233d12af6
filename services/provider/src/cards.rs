//! Test cards: the payment method decides what happens, so that a test needs no setting to see a decline.

use std::time::Duration;

/// How long [`Card::Slow`] takes: long enough to cancel an order while its charge is in flight.
const SLOW: Duration = Duration::from_secs(3);

/// What a test card does when it is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Card {
    /// Is charged.
    Succeeds,
    /// Is declined, with this `decline_code`.
    Declines(&'static str),
    /// Is charged; then the connection is dropped without an answer. A retry under the same key reads the stored one.
    ChargesWithoutReply,
    /// Is charged, three seconds late.
    Slow,
}

impl Card {
    /// The card of a `payment_method`. The names are those of the real processor's documentation, and ours with `idem`.
    pub(crate) fn of(payment_method: &str) -> Option<Self> {
        match payment_method {
            "pm_card_visa" => Some(Self::Succeeds),
            "pm_card_chargeDeclined" | "pm_card_visa_chargeDeclined" => {
                Some(Self::Declines("generic_decline"))
            }
            "pm_card_idem_charged_no_reply" => Some(Self::ChargesWithoutReply),
            "pm_card_idem_slow" => Some(Self::Slow),
            _ => None,
        }
    }

    /// How long the charge takes.
    pub(crate) fn delay(self) -> Duration {
        match self {
            Self::Slow => SLOW,
            Self::Succeeds | Self::Declines(_) | Self::ChargesWithoutReply => Duration::ZERO,
        }
    }

    /// Why it is declined, if it is.
    pub(crate) fn decline_code(self) -> Option<&'static str> {
        match self {
            Self::Declines(code) => Some(code),
            Self::Succeeds | Self::ChargesWithoutReply | Self::Slow => None,
        }
    }
}
