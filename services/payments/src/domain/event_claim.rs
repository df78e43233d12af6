//! `EventClaim`: the claim of a webhook event's type, and whether the claim can change a payment or refund.
//!
//! A claim is never believed. It only decides whether the processor is asked. Because the processor sends several events
//! about each charge, an event that agrees with a known outcome asks nothing.

use super::{payment, refund};

/// The claim of an event type about the event's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventClaim {
    /// The charge succeeded.
    Succeeded,
    /// The charge or refund failed.
    Failed,
    /// The object exists, or the processor is still working on it.
    Open,
    /// A member of the object changed: perhaps its state, perhaps its fee.
    Changed,
}

impl EventClaim {
    /// Reads the type of an event. Returns `None` for a type that never asks the processor.
    pub fn of(kind: &str) -> Option<Self> {
        match kind {
            "payment_intent.succeeded" | "charge.succeeded" => Some(Self::Succeeded),
            "payment_intent.payment_failed"
            | "payment_intent.canceled"
            | "charge.failed"
            | "refund.failed" => Some(Self::Failed),
            "payment_intent.processing"
            | "payment_intent.requires_action"
            | "charge.refunded"
            | "refund.created" => Some(Self::Open),
            "charge.updated" | "charge.refund.updated" | "refund.updated" => Some(Self::Changed),
            _ => None,
        }
    }

    /// Returns whether the claim can change a payment in this state.
    pub fn can_change_payment(self, state: &payment::State) -> bool {
        use payment::State as S;
        match state {
            S::Requested | S::Capturing | S::Unknown => true,
            S::Captured(reference) => {
                self == Self::Failed || (self == Self::Changed && reference.fee.is_none())
            }
            S::Declined { .. } | S::Cancelled => self == Self::Succeeded,
        }
    }

    /// Returns whether the claim can change a refund in this state. A bank may return a refund that succeeded.
    pub fn can_change_refund(self, state: &refund::State) -> bool {
        use refund::State as S;
        match state {
            S::Pending | S::Unknown => true,
            S::Succeeded { .. } => matches!(self, Self::Failed | Self::Changed),
            S::Failed { .. } => self == Self::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Fee, ProcessorReference};

    #[test]
    fn only_a_claim_that_disagrees_with_a_known_outcome_can_change_it() {
        use EventClaim::{Changed, Failed, Open, Succeeded};
        let (charge, code) = (Some("ch_1".to_owned()), "no".to_owned());
        let captured = |fee| {
            payment::State::Captured(ProcessorReference {
                id: "pi_1".to_owned(),
                charge: charge.clone(),
                fee,
            })
        };
        let fee = Fee { balance_transaction: "txn_1".to_owned(), amount: 59, currency: "EUR".to_owned() };
        let payments = [
            //                                             succeeded failed open changed
            (payment::State::Unknown, [true, true, true, true]),
            (captured(None), [false, true, false, true]),
            (captured(Some(fee)), [false, true, false, false]),
            (payment::State::Declined { code: code.clone() }, [true, false, false, false]),
        ];
        let claims = [Succeeded, Failed, Open, Changed];
        for (state, row) in payments {
            assert_eq!(claims.map(|claim| claim.can_change_payment(&state)), row, "{state:?}");
        }
        let refunds = [
            (refund::State::Pending, [true, true, true, true]),
            (refund::State::Succeeded { id: "re_1".to_owned() }, [false, true, false, true]),
            (refund::State::Failed { code, id: None }, [false, false, false, true]),
        ];
        for (state, row) in refunds {
            assert_eq!(claims.map(|claim| claim.can_change_refund(&state)), row, "{state:?}");
        }
    }
}
