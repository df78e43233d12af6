//! Concludes the client's command with the reply that the new state of its payment gives.
//!
//! These functions run in the transaction that changes the row. Payments that a message created have no command, and nothing happens
//! for them.

use std::mem::discriminant;

use database::Tx;
use edge::{CommandError, Problem, Reply};
use idempotency::{Conclusion, Operation, conclude};

use crate::domain::{AttemptOutcome, CallInput, NextStep, payment};
use crate::error::{CARD_DECLINED, CHARGE_REJECTED, OPERATION_FAILED, PAYMENT_EXPIRED, PAYMENT_NOT_EXECUTED};
use crate::store::payments::PaymentRow;
use crate::store::{calls, payments};
use crate::views::PaymentView;

type Result<T, E = database::Error> = std::result::Result<T, E>;

/// The side that declined a charge. It selects the problem for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeclinedBy {
    /// The card's bank: `card-declined`.
    Card,
    /// The processor, because it does not accept the request: `charge-rejected`.
    Processor,
}

impl DeclinedBy {
    pub(super) fn of(input: &CallInput) -> Self {
        match input {
            CallInput::AttemptEnded { outcome: AttemptOutcome::Rejected { .. }, .. } => Self::Processor,
            CallInput::AttemptEnded { .. } | CallInput::LookedUp { .. } | CallInput::Due(_) => Self::Card,
        }
    }

    fn problem(self, code: &str) -> Problem {
        match self {
            Self::Card => Problem::new(
                &CARD_DECLINED,
                format!(
                    "The card was declined ({code}) and was not charged. Try another card, with a new idempotency key."
                ),
            ),
            Self::Processor => Problem::new(
                &CHARGE_REJECTED,
                format!("The processor does not accept this charge ({code}). The card was not charged."),
            ),
        }
    }
}

/// Concludes the command of a payment that has changed from `from` to `to`. `payment` is the updated row.
pub(super) async fn payment_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    from: &payment::State,
    to: &payment::State,
    declined_by: DeclinedBy,
) -> Result<()> {
    use payment::State as S;
    let Some(operation) = payment.operation() else { return Ok(()) };
    if discriminant(from) == discriminant(to) {
        return Ok(());
    }
    let conclusion = match to {
        S::Requested | S::Capturing => return Ok(()),
        S::Unknown => Conclusion::Unknown,
        S::Captured(_) => {
            let location = format!("/v1/payments/{}", payment.id());
            Conclusion::Succeeded(Reply::created(location, &PaymentView::new(payment, &[])?).stored_response()?)
        }
        S::Declined { code } => Conclusion::Failed(declined_by.problem(code).stored_response()),
        S::Cancelled => Conclusion::Failed(
            Problem::new(
                &PAYMENT_EXPIRED,
                "The processor could not be reached in time, and the card was not charged. Charge again with a new \
                 idempotency key.",
            )
            .stored_response(),
        ),
    };
    conclude(tx, operation, conclusion).await?;
    Ok(())
}

/// Asks the client to repeat its charge if the attempt provably had no effect and the client has no reply yet. Until the
/// client repeats it or the payment expires, the worker does not retry the charge.
///
/// A refund is never returned to the client: the worker retries it, because the amount is owed.
pub(crate) async fn charge_attempt_ended(tx: &mut Tx, payment: &PaymentRow, next: NextStep) -> Result<()> {
    let Some(operation) = payment.operation() else { return Ok(()) };
    if next != (NextStep::RetryLater { may_have_arrived: false }) {
        return Ok(());
    }
    let problem = Problem::new(
        &PAYMENT_NOT_EXECUTED,
        "The processor could not be reached, and the card was not charged. Send the same request with the same key.",
    );
    if conclude(tx, operation, Conclusion::Retryable(problem.stored_response())).await? {
        calls::defer_until(tx, payment.id, payment.expires_at).await?;
    }
    Ok(())
}

/// Makes a charge due again because the client has repeated its command. Payment and processor key stay the same.
pub(crate) async fn retry_charge(tx: &mut Tx, operation: &Operation) -> Result<(), CommandError> {
    if let Some(payment) = payments::lock_of_operation(tx, operation.id).await? {
        calls::make_due_now(tx, payment.id).await?;
    }
    Ok(())
}

/// Concludes the command of a charge that no worker can send.
pub(crate) async fn payment_cannot_be_taken(tx: &mut Tx, payment: &PaymentRow) -> Result<()> {
    let Some(operation) = payment.operation() else { return Ok(()) };
    let problem = Problem::new(
        &OPERATION_FAILED,
        "An internal error prevents this charge. The card was not charged, and the operators were notified.",
    );
    conclude(tx, operation, Conclusion::Terminal(problem.stored_response())).await?;
    Ok(())
}
