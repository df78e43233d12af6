//! The payment as a table: what each state does about each input. Services, model and checkers share it.
//!
//! Two rules stand behind it. Nothing that may have reached the processor is ever given up or called off. And once
//! one attempt's outcome is unknown, no refusal of a later one proves anything: only an answer of the key itself does.

use super::{Deadlines, Next, Outcome, Receipt, Rejection};

/// Where a payment is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing has reached the processor, provably.
    Requested,
    /// The first attempt that may reach the processor is under way.
    Capturing,
    /// The money was taken, once.
    Captured(Receipt),
    /// The processor refused; nothing was taken.
    Declined {
        /// Why.
        code: String,
    },
    /// An attempt may have taken the money or not. Further attempts use its key.
    Unknown,
    /// Called off before anything reached the processor.
    Cancelled,
}

/// As much of a payment as a decision needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Where it is.
    pub state: State,
    /// Its order was cancelled.
    pub cancel_requested: bool,
}

/// Something that happens to a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A worker took its intent: it is due, or the lease of whoever had it has ended.
    Due(Deadlines),
    /// An attempt came to an end.
    Settled {
        /// How.
        outcome: Outcome,
        /// A newer attempt has begun in the meantime.
        superseded: bool,
    },
    /// Its order was cancelled.
    CancelRequested,
}

/// What becomes of it, all in one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// As it is from now on.
    pub payment: Payment,
    /// What the worker does about its intent.
    pub next: Next,
    /// What others are told.
    pub tell: Option<Tell>,
    /// Whether all of it is to be given back.
    pub refund: bool,
}

/// What others are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tell {
    /// The money was taken.
    Captured,
    /// It was refused.
    Declined {
        /// Why.
        code: String,
    },
    /// It was called off.
    Cancelled,
}

/// Decides. Every pair of state and input is named; a new one does not compile until it is.
pub fn decide(payment: &Payment, input: Input) -> Result<Decision, Rejection> {
    use Input as I;
    use State as S;

    if let I::Settled { superseded: true, outcome } = &input
        && !outcome.is_authoritative()
    {
        return Err(Rejection::Superseded);
    }
    match (&payment.state, input) {
        // The last moment to call it off without a trace.
        (S::Requested, I::CancelRequested | I::Due(Deadlines { expired: true, .. })) => {
            Ok(cancelled(payment))
        }
        (S::Requested, I::Due(Deadlines { expired: false, .. })) => {
            Ok(to(payment, S::Capturing, Next::Attempt))
        }
        (S::Requested, I::Settled { .. }) => Err(Rejection::NotInFlight),

        // The attempt before ended without a word. What may have begun is carried through, expired or not.
        (S::Capturing | S::Unknown, I::Due(Deadlines { key_forgotten, .. })) => {
            Ok(to(payment, S::Unknown, if key_forgotten { Next::Rest } else { Next::Attempt }))
        }
        (S::Capturing | S::Unknown, I::Settled { outcome, .. }) => Ok(settled(payment, outcome)),
        (S::Capturing | S::Unknown, I::CancelRequested) => {
            let payment = Payment { cancel_requested: true, ..payment.clone() };
            Ok(Decision { payment, next: Next::Keep, tell: None, refund: false })
        }

        (S::Captured(_), I::CancelRequested) => {
            let refund = !payment.cancel_requested;
            let payment = Payment { cancel_requested: true, ..payment.clone() };
            Ok(Decision { payment, next: Next::Keep, tell: None, refund })
        }
        (S::Declined { .. } | S::Cancelled, I::CancelRequested) => {
            Ok(Decision { payment: payment.clone(), next: Next::Keep, tell: None, refund: false })
        }
        (S::Captured(receipt), I::Settled { outcome, .. }) => {
            Err(Rejection::after_the_end(outcome.denies_success(&receipt.id)))
        }
        (S::Declined { .. } | S::Cancelled, I::Settled { outcome, .. }) => {
            Err(Rejection::after_the_end(matches!(outcome, Outcome::Succeeded(_))))
        }
        (S::Captured(_) | S::Declined { .. } | S::Cancelled, I::Due(_)) => Err(Rejection::Ended),
    }
}

/// The end of an attempt that is under way.
fn settled(payment: &Payment, outcome: Outcome) -> Decision {
    let in_doubt = payment.state == State::Unknown;
    match outcome {
        Outcome::Succeeded(receipt) => captured(payment, receipt),
        Outcome::Declined { code } | Outcome::Rejected { code, replayed: true } => declined(payment, code),
        Outcome::Rejected { code, replayed: false } if !in_doubt => declined(payment, code),
        clean if clean.leaves_nothing() && !in_doubt => {
            if payment.cancel_requested {
                cancelled(payment)
            } else {
                to(payment, State::Requested, Next::Retry { in_doubt: false })
            }
        }
        open @ (Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. }
        | Outcome::Processing
        | Outcome::RequiresAction { .. }
        | Outcome::Unknown(_)) => {
            let next = if open.may_clear() { Next::Retry { in_doubt: true } } else { Next::Rest };
            to(payment, State::Unknown, next)
        }
    }
}

fn to(payment: &Payment, state: State, next: Next) -> Decision {
    let payment = Payment { state, ..payment.clone() };
    Decision { payment, next, tell: None, refund: false }
}

fn captured(payment: &Payment, receipt: Receipt) -> Decision {
    let refund = payment.cancel_requested;
    Decision { tell: Some(Tell::Captured), refund, ..to(payment, State::Captured(receipt), Next::Rest) }
}

fn declined(payment: &Payment, code: String) -> Decision {
    let tell = Some(Tell::Declined { code: code.clone() });
    Decision { tell, ..to(payment, State::Declined { code }, Next::Rest) }
}

fn cancelled(payment: &Payment) -> Decision {
    Decision { tell: Some(Tell::Cancelled), ..to(payment, State::Cancelled, Next::Rest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Doubt;

    fn payment(state: State) -> Payment {
        Payment { state, cancel_requested: false }
    }

    fn after(state: State, outcome: Outcome) -> State {
        decide(&payment(state), Input::Settled { outcome, superseded: false }).unwrap().payment.state
    }

    #[test]
    fn a_key_in_use_is_no_proof_that_nothing_happened() {
        let refused = |status| Outcome::NotExecuted { status, retry_after: None };
        assert_eq!(after(State::Capturing, refused(409)), State::Unknown);
        assert_eq!(after(State::Capturing, refused(429)), State::Requested);
        assert_eq!(after(State::Unknown, refused(429)), State::Unknown);
    }

    #[test]
    fn a_rejection_ends_a_doubt_only_as_the_keys_own_answer() {
        let rejected = |replayed| Outcome::Rejected { code: "no".to_owned(), replayed };
        let declined = State::Declined { code: "no".to_owned() };
        assert_eq!(after(State::Capturing, rejected(false)), declined);
        assert_eq!(after(State::Unknown, rejected(false)), State::Unknown);
        assert_eq!(after(State::Unknown, rejected(true)), declined);
    }

    #[test]
    fn what_no_retry_can_clear_up_is_left_to_people() {
        for (doubt, next) in [
            (Doubt::NoAnswer, Next::Retry { in_doubt: true }),
            (Doubt::ServerError { status: 503, replayed: false }, Next::Retry { in_doubt: true }),
            (Doubt::ServerError { status: 500, replayed: true }, Next::Rest),
            (Doubt::OtherAmount, Next::Rest),
            (Doubt::KeyMismatch, Next::Rest),
        ] {
            let input = Input::Settled { outcome: Outcome::Unknown(doubt), superseded: false };
            assert_eq!(decide(&payment(State::Capturing), input).unwrap().next, next, "{doubt}");
        }
    }

    #[test]
    fn an_answer_that_denies_what_was_told_is_noticed() {
        let taken = |id: &str| Outcome::Succeeded(Receipt { id: id.to_owned(), charge: None });
        let captured = State::Captured(Receipt { id: "pi_1".to_owned(), charge: None });
        let declined = Outcome::Declined { code: "no".to_owned() };
        for (state, outcome, rejection) in [
            (captured.clone(), taken("pi_1"), Rejection::Ended),
            (captured.clone(), taken("pi_2"), Rejection::Contradicted),
            (captured.clone(), declined, Rejection::Contradicted),
            (captured, Outcome::NotSent, Rejection::Ended),
            (State::Cancelled, taken("pi_1"), Rejection::Contradicted),
            (State::Cancelled, Outcome::NotSent, Rejection::Ended),
        ] {
            let input = Input::Settled { outcome, superseded: false };
            assert_eq!(decide(&payment(state), input), Err(rejection));
        }
    }
}
