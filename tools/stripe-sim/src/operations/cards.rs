//! Test cards: the payment method decides what happens, so that a test needs no setting to see a decline.

use std::time::Duration;

/// How long [`Card::Slow`] takes: long enough to cancel an order while its charge is in flight.
const SLOW: Duration = Duration::from_secs(3);

/// What a test card does when it is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Card {
    /// Is charged.
    Succeeds,
    /// Is declined.
    Declines(Decline),
    /// Wants its holder to prove who they are.
    NeedsItsHolder,
    /// Is charged; then the connection is dropped without an answer. A retry under the same key reads the stored one.
    ChargesWithoutReply,
    /// Is charged, three seconds late.
    Slow,
    /// The bank says later that it is charged.
    ProcessesThenSucceeds,
    /// The bank says later that it is declined.
    ProcessesThenFails,
    /// Is charged; its refunds take another course.
    Refunds(RefundCourse),
}

/// How a refund goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefundCourse {
    /// At once.
    Succeeds,
    /// It is pending until the bank has taken it.
    PendingThenSucceeds,
    /// It is pending until the bank has refused it.
    PendingThenFails,
    /// It succeeds, and the bank returns it later.
    SucceedsThenFails,
}

/// Why a card is declined, as clients are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decline {
    /// What went wrong.
    pub(crate) code: &'static str,
    /// What the card's bank gave as its reason, if it gave one.
    pub(crate) decline_code: Option<&'static str>,
}

impl Decline {
    const fn of_bank(decline_code: &'static str) -> Self {
        Self { code: "card_declined", decline_code: Some(decline_code) }
    }

    const fn of_card(code: &'static str) -> Self {
        Self { code, decline_code: None }
    }

    /// A bank that gives no reason.
    pub(crate) const GENERIC: Self = Self::of_bank("generic_decline");
    /// The holder would have to be there.
    pub(crate) const AUTHENTICATION: Self =
        Self { code: "authentication_required", decline_code: Some("authentication_required") };

    const ALL: &'static [Self] = &[
        Self::GENERIC,
        Self::AUTHENTICATION,
        Self::of_bank("insufficient_funds"),
        Self::of_bank("lost_card"),
        Self::of_bank("stolen_card"),
        Self::of_card("expired_card"),
        Self::of_card("incorrect_cvc"),
        Self::of_card("processing_error"),
    ];

    /// The one that the books mean.
    pub(crate) fn stored(code: &str, decline_code: Option<&str>) -> Self {
        let known = Self::ALL.iter().find(|one| one.code == code && one.decline_code == decline_code);
        known.copied().unwrap_or(Self::GENERIC)
    }

    /// The same, for people.
    pub(crate) fn message(self) -> &'static str {
        match (self.code, self.decline_code) {
            ("authentication_required", _) => {
                "Your card was declined. This transaction requires authentication."
            }
            ("expired_card", _) => "Your card has expired.",
            ("incorrect_cvc", _) => "Your card's security code is incorrect.",
            ("processing_error", _) => {
                "An error occurred while processing your card. Try again in a little bit."
            }
            (_, Some("insufficient_funds")) => "Your card has insufficient funds.",
            _ => "Your card was declined.",
        }
    }
}

impl Card {
    /// The card of a `payment_method`. The names are those of the real processor's documentation, and ours with `idem`.
    pub(crate) fn of(payment_method: &str) -> Option<Self> {
        // Most declines have a second name with the brand in it.
        let name = payment_method.strip_prefix("pm_card_")?;
        Some(match name.strip_prefix("visa_").unwrap_or(name) {
            "visa" | "mastercard" | "amex" => Self::Succeeds,
            "chargeDeclined" => Self::Declines(Decline::GENERIC),
            "chargeDeclinedInsufficientFunds" => Self::Declines(Decline::of_bank("insufficient_funds")),
            "chargeDeclinedLostCard" => Self::Declines(Decline::of_bank("lost_card")),
            "chargeDeclinedStolenCard" => Self::Declines(Decline::of_bank("stolen_card")),
            "chargeDeclinedExpiredCard" => Self::Declines(Decline::of_card("expired_card")),
            "chargeDeclinedIncorrectCvc" => Self::Declines(Decline::of_card("incorrect_cvc")),
            "chargeDeclinedProcessingError" => Self::Declines(Decline::of_card("processing_error")),
            "authenticationRequired" => Self::NeedsItsHolder,
            "pendingRefund" => Self::Refunds(RefundCourse::PendingThenSucceeds),
            "refundFail" => Self::Refunds(RefundCourse::SucceedsThenFails),
            "idem_refund_pending_fails" => Self::Refunds(RefundCourse::PendingThenFails),
            "idem_charged_no_reply" => Self::ChargesWithoutReply,
            "idem_slow" => Self::Slow,
            "idem_processing" => Self::ProcessesThenSucceeds,
            "idem_processing_declined" => Self::ProcessesThenFails,
            _ => return None,
        })
    }

    /// What an amount makes of a card that would be charged, for whoever cannot choose the card.
    pub(crate) fn asked_for(self, amount: i64) -> Self {
        match (self, amount) {
            (Self::Succeeds, 99_999_901) => Self::Declines(Decline::GENERIC),
            (Self::Succeeds, 99_999_902) => Self::Declines(Decline::of_bank("insufficient_funds")),
            (Self::Succeeds, 99_999_903) => Self::ProcessesThenSucceeds,
            (Self::Succeeds, 99_999_904) => Self::ProcessesThenFails,
            (card, _) => card,
        }
    }

    /// How long the charge takes.
    pub(crate) fn delay(self) -> Duration {
        if self == Self::Slow { SLOW } else { Duration::ZERO }
    }

    /// How a refund of this card goes.
    pub(crate) fn refund_course(self) -> RefundCourse {
        if let Self::Refunds(course) = self { course } else { RefundCourse::Succeeds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decline_is_the_same_after_it_was_stored() {
        for decline in Decline::ALL {
            assert_eq!(Decline::stored(decline.code, decline.decline_code), *decline);
        }
    }

    #[test]
    fn a_card_number_is_no_card() {
        assert_eq!(Card::of("4242424242424242"), None);
        assert_eq!(Card::of("pm_card_visa_chargeDeclined"), Card::of("pm_card_chargeDeclined"));
    }
}
