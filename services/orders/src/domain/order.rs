//! The state machine of an order: [`decide`] names the outcome of every input in every state.
//!
//! An order ends once, as confirmed or cancelled, and does not change after that.

use contracts::events::CancelReason;
use strum::{EnumDiscriminants, EnumString, IntoStaticStr, VariantArray};

/// The state of an order.
#[derive(Debug, Clone, PartialEq, Eq, EnumDiscriminants)]
#[strum_discriminants(
    name(Status),
    derive(EnumString, IntoStaticStr, VariantArray),
    strum(serialize_all = "snake_case"),
    doc = "A [`State`] without its details: one word, as tables and clients use it."
)]
pub enum State {
    /// inventory is reserving the stock.
    Pending,
    /// The stock is reserved; payments is charging the customer.
    AwaitingPayment,
    /// The order is paid, and inventory ships it. An end.
    Confirmed,
    /// The order will not be fulfilled. An end.
    Cancelled {
        /// Why.
        reason: CancelReason,
        /// The customer's own words; only for [`CancelReason::Customer`].
        note: Option<String>,
    },
}

/// An event of another service, a request of the customer, or the end of the order's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// inventory has reserved the stock.
    StockReserved,
    /// inventory has too little stock.
    StockRejected,
    /// inventory has shipped the order.
    StockShipped,
    /// inventory has released the reserved stock.
    StockReleased,
    /// payments has charged the customer.
    PaymentCaptured,
    /// The customer's card was declined.
    PaymentDeclined,
    /// payments has cancelled the charge before its first attempt.
    PaymentCancelled,
    /// payments has refunded the charge.
    PaymentRefunded,
    /// The refund has failed, and a person at payments looks after it.
    PaymentRefundFailed,
    /// The customer cancels, with a note in their own words.
    Cancel(String),
    /// The order was not confirmed in time.
    Expire,
}

/// The effect of an input on an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the order reflects the input already, or has ended.
    NoChange,
    /// The order takes this state and announces it.
    Change(State, Announcement),
}

/// The event that `orders` publishes about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announcement {
    /// Asks payments to charge the customer.
    PaymentRequested,
    /// Asks inventory to ship.
    OrderConfirmed,
    /// Asks inventory to release the stock, and payments to refund a charge.
    OrderCancelled(CancelReason),
}

/// Why an input does not fit the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The customer cancels an order that was confirmed, or cancelled for another cause.
    AlreadyEnded,
    /// The customer cancels again, with another note.
    OtherNote,
    /// A correct service does not publish this event in this state. The message is parked for an operator.
    UnexpectedEvent,
}

/// Decides what `input` does to an order in `state`.
///
/// Every pair is named: a new state or input does not compile until each of its pairs is.
pub fn decide(state: &State, input: &Input) -> Result<Decision, Conflict> {
    use Decision::{Change, NoChange};
    use Input as I;
    use State as S;

    match (state, input) {
        (S::Pending, I::StockReserved) => Ok(Change(S::AwaitingPayment, Announcement::PaymentRequested)),
        (S::Pending, I::StockRejected) => Ok(cancelled(CancelReason::Rejected)),
        (S::AwaitingPayment, I::PaymentCaptured) => Ok(Change(S::Confirmed, Announcement::OrderConfirmed)),
        (S::AwaitingPayment, I::PaymentDeclined) => Ok(cancelled(CancelReason::Declined)),
        // payments starts no first attempt after the order's time, and cancels the charge instead.
        (S::AwaitingPayment, I::PaymentCancelled) => Ok(cancelled(CancelReason::Expired)),

        (S::Pending | S::AwaitingPayment, I::Expire) => Ok(cancelled(CancelReason::Expired)),
        (S::Pending | S::AwaitingPayment, I::Cancel(note)) => Ok(Change(
            S::Cancelled { reason: CancelReason::Customer, note: Some(note.clone()) },
            Announcement::OrderCancelled(CancelReason::Customer),
        )),

        // A cancelled order stays cancelled. Because OrderCancelled was announced, payments refunds a late capture.
        (
            S::Cancelled { .. },
            I::StockReserved
            | I::StockRejected
            | I::StockReleased
            | I::PaymentCaptured
            | I::PaymentDeclined
            | I::PaymentCancelled
            | I::PaymentRefunded
            | I::PaymentRefundFailed
            | I::Expire,
        ) => Ok(NoChange),
        (S::Cancelled { reason: CancelReason::Customer, note }, I::Cancel(again)) => {
            if note.as_ref() == Some(again) { Ok(NoChange) } else { Err(Conflict::OtherNote) }
        }
        (S::Cancelled { .. } | S::Confirmed, I::Cancel(_)) => Err(Conflict::AlreadyEnded),

        // The order reflects these already.
        (S::AwaitingPayment | S::Confirmed, I::StockReserved) => Ok(NoChange),
        (
            S::Confirmed,
            I::PaymentCaptured | I::StockShipped | I::PaymentRefunded | I::PaymentRefundFailed | I::Expire,
        ) => Ok(NoChange),

        (S::Pending, I::PaymentCaptured | I::PaymentDeclined | I::PaymentCancelled)
        | (
            S::Pending | S::AwaitingPayment,
            I::PaymentRefunded | I::PaymentRefundFailed | I::StockShipped | I::StockReleased,
        )
        | (S::AwaitingPayment, I::StockRejected)
        | (S::Confirmed, I::StockRejected | I::StockReleased | I::PaymentDeclined | I::PaymentCancelled)
        | (S::Cancelled { .. }, I::StockShipped) => Err(Conflict::UnexpectedEvent),
    }
}

fn cancelled(reason: CancelReason) -> Decision {
    Decision::Change(State::Cancelled { reason, note: None }, Announcement::OrderCancelled(reason))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inputs() -> impl Strategy<Value = Vec<Input>> {
        let one = prop_oneof![
            Just(Input::StockReserved),
            Just(Input::StockRejected),
            Just(Input::StockShipped),
            Just(Input::StockReleased),
            Just(Input::PaymentCaptured),
            Just(Input::PaymentDeclined),
            Just(Input::PaymentCancelled),
            Just(Input::PaymentRefunded),
            Just(Input::PaymentRefundFailed),
            "[ab]".prop_map(Input::Cancel),
            Just(Input::Expire),
        ];
        prop::collection::vec(one, 0..24)
    }

    proptest! {
        #[test]
        fn an_ended_order_never_changes_and_is_announced_once(inputs in inputs()) {
            let mut state = State::Pending;
            let (mut ended, mut announced) = (0, Vec::new());
            for input in &inputs {
                if let Ok(Decision::Change(next, announcement)) = decide(&state, input) {
                    prop_assert!(!matches!(state, State::Confirmed | State::Cancelled { .. }), "{state:?} {input:?}");
                    ended += i32::from(matches!(next, State::Confirmed | State::Cancelled { .. }));
                    prop_assert!(!announced.contains(&announcement), "announced twice: {announcement:?}");
                    announced.push(announcement);
                    state = next;
                }
            }
            prop_assert!(ended <= 1);
        }

        #[test]
        fn a_payment_is_requested_only_with_the_stock_reserved(inputs in inputs()) {
            let mut state = State::Pending;
            let mut held = false;
            for input in &inputs {
                let decision = decide(&state, input);
                held |= *input == Input::StockReserved;
                if let Ok(Decision::Change(next, announcement)) = decision {
                    prop_assert!(announcement != Announcement::PaymentRequested || held);
                    prop_assert!(announcement != Announcement::OrderConfirmed || held);
                    state = next;
                }
            }
        }
    }

    #[test]
    fn a_capture_after_the_cancellation_changes_nothing_here() {
        for reason in [CancelReason::Customer, CancelReason::Expired] {
            let state = State::Cancelled { reason, note: None };
            assert_eq!(decide(&state, &Input::PaymentCaptured), Ok(Decision::NoChange));
        }
    }

    #[test]
    fn cancelling_again_with_the_same_note_changes_nothing() {
        let note = Some("changed my mind".to_owned());
        let state = State::Cancelled { reason: CancelReason::Customer, note };
        assert_eq!(decide(&state, &Input::Cancel("changed my mind".into())), Ok(Decision::NoChange));
        assert_eq!(decide(&state, &Input::Cancel("too dear".into())), Err(Conflict::OtherNote));
    }

    #[test]
    fn a_confirmed_order_cannot_be_cancelled() {
        let state = State::Confirmed;
        assert_eq!(decide(&state, &Input::Cancel("late".into())), Err(Conflict::AlreadyEnded));
    }
}
