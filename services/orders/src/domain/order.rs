//! The saga as a table: what each order does about each thing that happens. Services, model and checkers share it.

use contracts::PaymentId;
use contracts::events::CancelReason;

/// Where an order is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Its stock is being reserved.
    Pending,
    /// Its stock is held; the charge is under way.
    AwaitingPayment,
    /// Paid; its stock ships.
    Confirmed,
    /// It will not be fulfilled.
    Cancelled {
        /// Why.
        reason: CancelReason,
        /// The customer's words, if it was the customer.
        note: Option<String>,
    },
}

/// As much of an order as a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Where it is.
    pub state: State,
}

/// Something that happened, or is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// inventory holds the stock.
    StockReserved,
    /// inventory has too little.
    StockRejected,
    /// inventory has shipped it.
    StockShipped,
    /// inventory has taken it back.
    StockReleased,
    /// payments has the money.
    Captured(PaymentId),
    /// The card was declined.
    Declined,
    /// payments called the charge off before its first attempt.
    PaymentCancelled,
    /// payments has given the money back.
    Refunded,
    /// The customer asks to cancel, with a reason in their own words.
    Cancel(String),
    /// Its time is up.
    Expire,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: it is so already, or no longer matters.
    Stay,
    /// Change the state, and tell the others.
    Become(State, Tell),
}

/// What the others are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tell {
    /// Charge the customer.
    PaymentRequested,
    /// Ship it.
    Confirmed,
    /// Release the stock, give back the money.
    Cancelled(CancelReason),
}

/// The input does not fit the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// A confirmed order, or one that ended otherwise, is not cancelled any more.
    TooLate,
    /// It was cancelled by the customer with another reason.
    OtherReason,
    /// No correct peer says this now: the message is put aside for people to look at.
    Impossible,
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
pub fn decide(order: &Order, input: &Input) -> Result<Decision, Conflict> {
    use Decision::Stay;
    use Input as I;
    use State as S;

    match (&order.state, input) {
        (S::Pending, I::StockReserved) => Ok(Decision::Become(S::AwaitingPayment, Tell::PaymentRequested)),
        (S::Pending, I::StockRejected) => Ok(cancelled(CancelReason::Rejected)),
        (S::AwaitingPayment, I::Captured(_)) => Ok(Decision::Become(S::Confirmed, Tell::Confirmed)),
        (S::AwaitingPayment, I::Declined) => Ok(cancelled(CancelReason::Declined)),
        // payments starts no first attempt once the order's time is up.
        (S::AwaitingPayment, I::PaymentCancelled) => Ok(cancelled(CancelReason::Expired)),

        (S::Pending | S::AwaitingPayment, I::Expire) => Ok(cancelled(CancelReason::Expired)),
        (S::Pending | S::AwaitingPayment, I::Cancel(note)) => Ok(Decision::Become(
            S::Cancelled { reason: CancelReason::Customer, note: Some(note.clone()) },
            Tell::Cancelled(CancelReason::Customer),
        )),

        // A cancelled order stays cancelled. payments refunds what it still captured: OrderCancelled told it so.
        (
            S::Cancelled { .. },
            I::StockReserved
            | I::StockRejected
            | I::StockReleased
            | I::Captured(_)
            | I::Declined
            | I::PaymentCancelled
            | I::Refunded
            | I::Expire,
        ) => Ok(Stay),
        (S::Cancelled { reason: CancelReason::Customer, note }, I::Cancel(again)) => {
            if note.as_ref() == Some(again) { Ok(Stay) } else { Err(Conflict::OtherReason) }
        }
        (S::Cancelled { .. } | S::Confirmed, I::Cancel(_)) => Err(Conflict::TooLate),

        // The same again, or what follows from it.
        (S::AwaitingPayment | S::Confirmed, I::StockReserved) => Ok(Stay),
        (S::Confirmed, I::Captured(_) | I::StockShipped | I::Refunded | I::Expire) => Ok(Stay),

        (S::Pending, I::Captured(_) | I::Declined | I::PaymentCancelled | I::Refunded)
        | (S::Pending | S::AwaitingPayment, I::StockShipped | I::StockReleased)
        | (S::AwaitingPayment, I::StockRejected | I::Refunded)
        | (S::Confirmed, I::StockRejected | I::StockReleased | I::Declined | I::PaymentCancelled)
        | (S::Cancelled { .. }, I::StockShipped) => Err(Conflict::Impossible),
    }
}

fn cancelled(reason: CancelReason) -> Decision {
    Decision::Become(State::Cancelled { reason, note: None }, Tell::Cancelled(reason))
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
            Just(Input::Captured(PaymentId::generate())),
            Just(Input::Declined),
            Just(Input::PaymentCancelled),
            Just(Input::Refunded),
            "[ab]".prop_map(Input::Cancel),
            Just(Input::Expire),
        ];
        prop::collection::vec(one, 0..24)
    }

    proptest! {
        #[test]
        fn an_ended_order_never_changes_and_is_told_once(inputs in inputs()) {
            let mut order = Order { state: State::Pending };
            let (mut ended, mut told) = (0, Vec::new());
            for input in &inputs {
                if let Ok(Decision::Become(state, tell)) = decide(&order, input) {
                    prop_assert!(!matches!(order.state, State::Confirmed | State::Cancelled { .. }), "{order:?} {input:?}");
                    ended += i32::from(matches!(state, State::Confirmed | State::Cancelled { .. }));
                    prop_assert!(!told.contains(&tell), "told twice: {tell:?}");
                    told.push(tell);
                    order = Order { state };
                }
            }
            prop_assert!(ended <= 1);
        }

        #[test]
        fn a_payment_is_asked_for_only_with_the_stock_held(inputs in inputs()) {
            let mut order = Order { state: State::Pending };
            let mut held = false;
            for input in &inputs {
                let decision = decide(&order, input);
                held |= *input == Input::StockReserved;
                if let Ok(Decision::Become(state, tell)) = decision {
                    prop_assert!(tell != Tell::PaymentRequested || held);
                    prop_assert!(tell != Tell::Confirmed || held);
                    order = Order { state };
                }
            }
        }
    }

    #[test]
    fn a_capture_after_the_cancellation_changes_nothing_here() {
        for reason in [CancelReason::Customer, CancelReason::Expired] {
            let order = Order { state: State::Cancelled { reason, note: None } };
            assert_eq!(decide(&order, &Input::Captured(PaymentId::generate())), Ok(Decision::Stay));
        }
    }

    #[test]
    fn cancelling_again_with_the_same_words_is_the_same_intent() {
        let note = Some("changed my mind".to_owned());
        let order = Order { state: State::Cancelled { reason: CancelReason::Customer, note } };
        assert_eq!(decide(&order, &Input::Cancel("changed my mind".into())), Ok(Decision::Stay));
        assert_eq!(decide(&order, &Input::Cancel("too dear".into())), Err(Conflict::OtherReason));
    }

    #[test]
    fn a_confirmed_order_cannot_be_cancelled() {
        let order = Order { state: State::Confirmed };
        assert_eq!(decide(&order, &Input::Cancel("late".into())), Err(Conflict::TooLate));
    }
}
