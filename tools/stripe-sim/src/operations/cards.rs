//! Test cards: the `payment_method` decides the outcome of a charge and of its refunds.

use std::time::Duration;

use strum::{EnumString, IntoStaticStr};

use crate::bank::Decision;

/// The delay of [`Card::ChargesSlowly`]: long enough to cancel an order while its charge is in flight.
const SLOW: Duration = Duration::from_secs(3);

/// The result of charging a test card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Card {
    Charges,
    Declines(Decline),
    /// Is charged; then the connection is dropped without a response. A retry with the same key reads the stored one.
    ChargesWithoutReply,
    /// Is charged after three seconds.
    ChargesSlowly,
    /// The bank decides later.
    Processes(Decision),
    /// Is charged; its refunds take this course.
    Refunds(RefundCourse),
}

/// The course of a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefundCourse {
    Succeeds,
    PendingThenSucceeds,
    PendingThenFails,
    /// It succeeds, and the bank returns it later.
    SucceedsThenFails,
}

/// The reason of a decline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Decline {
    #[strum(serialize = "generic_decline")]
    Generic,
    InsufficientFunds,
    AuthenticationRequired,
}

impl Decline {
    pub(crate) fn decline_code(self) -> &'static str {
        self.into()
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::AuthenticationRequired => "authentication_required",
            Self::Generic | Self::InsufficientFunds => "card_declined",
        }
    }

    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Generic => "Your card was declined.",
            Self::InsufficientFunds => "Your card has insufficient funds.",
            Self::AuthenticationRequired => {
                "Your card was declined. This transaction requires authentication."
            }
        }
    }

    /// The decline with this code.
    pub(crate) fn stored(decline_code: &str) -> Self {
        decline_code.parse().unwrap_or(Self::Generic)
    }
}

impl Card {
    /// The card of a `payment_method`. Names with `idem` are ours, the others are Stripe's.
    pub(crate) fn of(payment_method: &str) -> Option<Self> {
        Some(match payment_method.strip_prefix("pm_card_")? {
            "visa" => Self::Charges,
            "chargeDeclined" | "visa_chargeDeclined" => Self::Declines(Decline::Generic),
            "chargeDeclinedInsufficientFunds" => Self::Declines(Decline::InsufficientFunds),
            "authenticationRequired" => Self::Declines(Decline::AuthenticationRequired),
            "pendingRefund" => Self::Refunds(RefundCourse::PendingThenSucceeds),
            "refundFail" => Self::Refunds(RefundCourse::SucceedsThenFails),
            "idem_refund_pending_fails" => Self::Refunds(RefundCourse::PendingThenFails),
            "idem_charged_no_reply" => Self::ChargesWithoutReply,
            "idem_slow" => Self::ChargesSlowly,
            "idem_processing" => Self::Processes(Decision::ChargeSucceeds),
            "idem_processing_declined" => Self::Processes(Decision::ChargeFails),
            _ => return None,
        })
    }

    /// How long the charge takes.
    pub(crate) fn delay(self) -> Duration {
        if self == Self::ChargesSlowly { SLOW } else { Duration::ZERO }
    }

    pub(crate) fn refund_course(self) -> RefundCourse {
        if let Self::Refunds(course) = self { course } else { RefundCourse::Succeeds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decline_is_the_same_after_it_was_stored() {
        for decline in [Decline::Generic, Decline::InsufficientFunds, Decline::AuthenticationRequired] {
            assert_eq!(Decline::stored(decline.decline_code()), decline);
        }
    }

    #[test]
    fn a_card_number_is_no_card() {
        assert_eq!(Card::of("4242424242424242"), None);
        assert_eq!(Card::of("pm_card_visa_chargeDeclined"), Card::of("pm_card_chargeDeclined"));
    }
}
