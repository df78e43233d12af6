//! The only place where a payment or a refund changes: the table decides, and this carries the decision out in the
//! caller's transaction, with the payment locked. Consumer and worker come here; nobody else writes these rows.

use contracts::events::{PaymentCancelled, PaymentCaptured, PaymentDeclined, PaymentRefunded};
use contracts::{Event, EventId};
use database::Tx;
use outbox::AppendError;
use serde_json::json;
use thiserror::Error;

use crate::commands::{self, Refusal};
use crate::domain::payment::{self, Payment, State, Tell};
use crate::domain::refund::{self, Refund};
use crate::domain::{Next, Rejection};
use crate::intake::{self, Cause};
use crate::ledger;
use crate::processor::Forms;
use crate::review::{self, NewReview, Reason, Subject};
use crate::store::payments::{self, Change, PaymentRow};
use crate::store::refunds::{self, RefundRow};

/// Why a decision was not carried out. Everything of the transaction is undone.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Fault {
    /// Whether waiting may help.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Database(error) => error.class() != database::ErrorClass::Permanent,
            Self::Append(_) => false,
        }
    }
}

impl From<Fault> for inbox::HandlerError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Database(error) => Self::Database(error),
            Fault::Append(error) => Self::Refused(error.to_string()),
        }
    }
}

/// Moves a payment by one input. Returns what the worker does about its intent.
pub(crate) async fn payment(
    tx: &mut Tx,
    forms: &Forms,
    row: &PaymentRow,
    input: payment::Input,
) -> Result<Next, Fault> {
    let before = row.payment()?;
    let (subject, seen, refusal) = (Subject::Payment(row.id()), input.seen(), Refusal::of(&input));
    let decision = match payment::decide(&before, input) {
        Ok(decision) => decision,
        Err(rejection) => return rejected(tx, rejection, row, subject, &seen).await,
    };
    let left = if decision.refund { row.amount()?.amount - row.refund_reserved } else { 0 };
    let sequence = row.sequence + i64::from(decision.tell.is_some());
    let refund_reserved = row.refund_reserved + left;
    if decision.payment != before {
        let change = Change { payment: &decision.payment, refund_reserved, sequence };
        payments::update(tx, row.id(), &change).await?;
        log_move(row, &before, &decision.payment);
        ledger::payment_moved(tx, row, &before.state, &decision.payment.state).await?;
        commands::payment_moved(tx, row, &decision.payment.state, refusal).await?;
    }
    if let Some(tell) = decision.tell {
        announce(tx, row, sequence, tell)?;
    }
    if let State::Captured(receipt) = &decision.payment.state
        && left > 0
    {
        let refund = intake::refund(tx, forms, row, receipt, left, Cause::OrderCancelled).await?;
        tracing::info!(payment = %row.id(), %refund, amount = left, "a cancelled order's payment is refunded");
    }
    if let Some(reason) = decision.review {
        ask_people(tx, row, subject, reason, &seen).await?;
    }
    Ok(decision.next)
}

/// Moves a refund by one input. Returns what the worker does about its intent.
pub(crate) async fn refund(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    in_flight: bool,
    input: refund::Input,
) -> Result<Next, Fault> {
    let before = Refund { state: row.state()?, in_flight };
    let (subject, seen) = (Subject::Refund(payment.id(), row.id()), input.seen());
    let decision = match refund::decide(&before, input) {
        Ok(decision) => decision,
        Err(rejection) => return rejected(tx, rejection, payment, subject, &seen).await,
    };
    if decision.state != before.state {
        refunds::update(tx, row.id(), &decision.state).await?;
        let (refund, from, to) = (row.id(), &before.state, &decision.state);
        tracing::info!(payment = %payment.id(), %refund, ?from, ?to, "RefundMoved");
        ledger::refund_moved(tx, payment, row, &before.state, &decision.state).await?;
        conclude(tx, payment, row, &decision.state).await?;
        commands::refund_moved(tx, payment, row, &decision.state).await?;
    }
    if let Some(reason) = decision.review {
        ask_people(tx, payment, subject, reason, &seen).await?;
    }
    Ok(decision.next)
}

/// What the payment has of its refund's new state.
async fn conclude(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    state: &refund::State,
) -> Result<(), Fault> {
    let (refund_reserved, sequence) = match state {
        refund::State::Pending | refund::State::Unknown => return Ok(()),
        refund::State::Succeeded { .. } => (payment.refund_reserved, payment.sequence + 1),
        // Its amount is free again, whether it was never given back or has come back.
        refund::State::Failed { .. } => (payment.refund_reserved - row.amount, payment.sequence),
    };
    let unchanged = payment.payment()?;
    payments::update(tx, payment.id(), &Change { payment: &unchanged, refund_reserved, sequence }).await?;
    if matches!(state, refund::State::Succeeded { .. }) {
        let refunded = PaymentRefunded {
            payment: payment.id(),
            order: payment.order(),
            refund: row.id(),
            amount: payment.in_its_currency(row.amount)?,
        };
        append(tx, payment, sequence, &refunded)?;
    }
    Ok(())
}

fn announce(tx: &mut Tx, row: &PaymentRow, sequence: i64, tell: Tell) -> Result<EventId, Fault> {
    let (payment, order) = (row.id(), row.order());
    match tell {
        Tell::Captured => {
            let amount = row.amount()?;
            append(tx, row, sequence, &PaymentCaptured { payment, order, amount })
        }
        Tell::Declined { code } => append(tx, row, sequence, &PaymentDeclined { payment, order, code }),
        Tell::Cancelled => append(tx, row, sequence, &PaymentCancelled { payment, order }),
    }
}

fn append<E: Event>(tx: &mut Tx, row: &PaymentRow, sequence: i64, event: &E) -> Result<EventId, Fault> {
    Ok(outbox::append(tx, &row.tenant()?, sequence, event)?)
}

fn log_move(row: &PaymentRow, from: &Payment, to: &Payment) {
    let cancel_requested = to.cancel_requested;
    tracing::info!(payment = %row.id(), from = ?from.state, to = ?to.state, cancel_requested, "PaymentMoved");
}

/// The input came too late to change anything. What that means for the intent.
async fn rejected(
    tx: &mut Tx,
    rejection: Rejection,
    row: &PaymentRow,
    subject: Subject<'_>,
    seen: &str,
) -> Result<Next, Fault> {
    match rejection {
        Rejection::Ended => Ok(Next::Rest),
        Rejection::Superseded | Rejection::NotInFlight => {
            let payment = row.id();
            tracing::info!(%payment, ?rejection, seen, "an outcome came too late and changed nothing");
            Ok(Next::Keep)
        }
        Rejection::Contradicted => {
            ask_people(tx, row, subject, Reason::Contradicted, seen).await?;
            Ok(Next::Rest)
        }
    }
}

/// What was seen goes with it, so that they need no log.
async fn ask_people(
    tx: &mut Tx,
    row: &PaymentRow,
    subject: Subject<'_>,
    reason: Reason,
    seen: &str,
) -> Result<(), Fault> {
    let tenant = row.tenant()?;
    let details = json!({ "seen": seen });
    review::open(tx, NewReview { tenant: Some(&tenant), subject, reason, details }).await?;
    Ok(())
}
