//! What clients ask for by POST, from here to its end: what a payment's or a refund's new state answers to the command
//! that wanted it. Called wherever such a row moves, in the same transaction; rows that a message wanted answer to
//! nobody.

use std::mem::discriminant;

use database::Tx;
use edge::{CommandError, Problem, Reply};
use idempotency::{Conclusion, Operation, conclude};
use uuid::Uuid;

use crate::api::{PaymentView, RefundView};
use crate::domain::payment::{self, Input};
use crate::domain::{Next, Outcome, refund};
use crate::error::{
    CARD_DECLINED, CHARGE_REJECTED, OPERATION_FAILED, PAYMENT_EXPIRED, PAYMENT_NOT_EXECUTED, REFUND_FAILED,
};
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;
use crate::store::{intents, payments, refunds};

type Result<T, E = database::Error> = std::result::Result<T, E>;

/// Whose fault it is that nothing was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The card's bank, or whoever decides there, said no.
    OfTheCard,
    /// The processor found the request wrong.
    OfTheRequest,
}

impl Refusal {
    /// Of which kind it is, if this input is one.
    pub(crate) fn of(input: &Input) -> Self {
        match input {
            Input::Settled { outcome: Outcome::Rejected { .. }, .. } => Self::OfTheRequest,
            Input::Settled { .. } | Input::LookedUp { .. } | Input::Due(_) | Input::CancelRequested => {
                Self::OfTheCard
            }
        }
    }
}

/// A payment has come to this state, and is written.
pub(crate) async fn payment_moved(
    tx: &mut Tx,
    before: &PaymentRow,
    to: &payment::State,
    refusal: Refusal,
) -> Result<()> {
    use payment::State as S;
    let Some(operation) = before.operation() else { return Ok(()) };
    if discriminant(&before.state()?) == discriminant(to) {
        return Ok(());
    }
    let conclusion = match to {
        S::Requested | S::Capturing => return Ok(()),
        S::Unknown => Conclusion::Unknown,
        S::Captured(_) => {
            let row = payments::lock(tx, before.id()).await?;
            let location = format!("/v1/payments/{}", row.id());
            Conclusion::Succeeded(Reply::created(location, &PaymentView::new(&row, &[])?).stored_response()?)
        }
        S::Declined { code } => Conclusion::Failed(declined(code, refusal).receipt()),
        S::Cancelled => Conclusion::Failed(
            Problem::new(
                &PAYMENT_EXPIRED,
                "Nothing was taken: the processor could not be asked in time. Charge again with a new key.",
            )
            .receipt(),
        ),
    };
    conclude(tx, operation, conclusion).await?;
    Ok(())
}

fn declined(code: &str, refusal: Refusal) -> Problem {
    match refusal {
        Refusal::OfTheCard => Problem::new(
            &CARD_DECLINED,
            format!("The card was declined ({code}); nothing was taken. Try another card, with a new key."),
        ),
        Refusal::OfTheRequest => Problem::new(
            &CHARGE_REJECTED,
            format!("The processor does not accept this charge ({code}); nothing was taken."),
        ),
    }
}

/// A refund has come to this state, and is written.
pub(crate) async fn refund_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    before: &RefundRow,
    to: &refund::State,
) -> Result<()> {
    use refund::State as S;
    let Some(operation) = before.operation() else { return Ok(()) };
    let conclusion = match to {
        S::Pending => return Ok(()),
        S::Unknown => Conclusion::Unknown,
        S::Succeeded { .. } => {
            let row = refunds::get(tx, before.id()).await?;
            let location = format!("/v1/refunds/{}", row.id());
            Conclusion::Succeeded(
                Reply::created(location, &RefundView::new(payment, &row)?).stored_response()?,
            )
        }
        // One that succeeded before and was returned has had its answer; the refund itself tells.
        S::Failed { code, .. } => {
            let detail = format!("The processor refused the refund ({code}); nothing was given back.");
            Conclusion::Failed(Problem::new(&REFUND_FAILED, detail).receipt())
        }
    };
    conclude(tx, operation, conclusion).await?;
    Ok(())
}

/// An attempt was recorded. Where it is proved to have had no effect, and the client has no receipt yet, it is the
/// client who asks again: until then, or until it is too late, the charge rests. A refund never does: once owed, owed.
pub(crate) async fn attempt_ended(tx: &mut Tx, payment: &PaymentRow, intent: Uuid, next: Next) -> Result<()> {
    let is_charge = intent == payment.id;
    let Some(operation) = payment.operation().filter(|_| is_charge) else { return Ok(()) };
    if next != (Next::Retry { in_doubt: false }) {
        return Ok(());
    }
    let told = Problem::new(
        &PAYMENT_NOT_EXECUTED,
        "The processor could not be asked; nothing was taken. Send the same request with the same key.",
    );
    if conclude(tx, operation, Conclusion::Retryable(told.receipt())).await? {
        intents::postpone_until(tx, intent, payment.expires_at).await?;
    }
    Ok(())
}

/// The client asks again for a charge that rests: the same payment, under the same key of the processor.
pub(crate) async fn try_again(tx: &mut Tx, operation: &Operation) -> Result<(), CommandError> {
    if let Some(payment) = payments::lock_of_operation(tx, operation.id).await? {
        intents::hasten(tx, payment.id).await?;
    }
    Ok(())
}

/// Refunds do not rest, so there is nothing to wake.
pub(crate) async fn go_on(_: &mut Tx, _: &Operation) -> Result<(), CommandError> {
    Ok(())
}

/// An intent of this payment can never be carried out, and nothing of it was sent.
pub(crate) async fn payment_is_poisoned(tx: &mut Tx, payment: &PaymentRow) -> Result<()> {
    let Some(operation) = payment.operation() else { return Ok(()) };
    let told = Problem::new(
        &OPERATION_FAILED,
        "A mistake of ours keeps this charge from being made; nothing was taken. We have been told.",
    );
    conclude(tx, operation, Conclusion::Terminal(told.receipt())).await?;
    Ok(())
}
