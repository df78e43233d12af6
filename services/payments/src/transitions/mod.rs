//! The only place where payments, refunds and their processor calls change.
//!
//! Each function runs in the caller's transaction. It locks the payment first, or expects that the caller has locked it;
//! asks the tables of `domain` for a decision; writes the rows; posts to the ledger; appends the event to the outbox; and
//! concludes the client's command. The caller begins and commits the transaction.
//!
//! Nothing here calls the processor. Because every change runs through these functions, a worker's response, a lookup,
//! a message and an operator's resolution are decided by the same tables.

mod accept;
mod call;
mod conclude;
mod payment;
mod refund;
mod resolution;
mod review;

use database::{ErrorClass, Tx};
use outbox::AppendError;
use thiserror::Error;

use crate::domain::review::{Reason, Subject};
use crate::domain::{NextStep, Rejection};
use crate::store::payments::PaymentRow;

pub(crate) use accept::accept_charge;
pub(crate) use call::{look_up_after_event, move_call, request_look_up};
pub(crate) use conclude::{charge_attempt_ended, payment_cannot_be_taken, retry_charge};
pub(crate) use payment::{cancel_payment, confirm_order, lock_payment_of_order, move_payment};
pub(crate) use refund::{
    RequestedRefund, accept_requested_refund, attach_refund, keep_waiting, move_refund, retry_refund,
};
pub(crate) use resolution::{Applied, apply_resolution};
pub(crate) use review::open_review;

/// Why a transition failed. The caller rolls its transaction back.
#[derive(Debug, Error)]
pub(crate) enum TransitionError {
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The stored rows do not permit the change. A retry would be refused again. The text says what to do instead, if a person
    /// asked for the change.
    #[error("{0}")]
    Refused(String),
}

impl TransitionError {
    /// Returns whether the database is away or busy. Then nothing else can be done, and a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        !self.is_permanent()
            && !matches!(self, Self::Database(error) if error.class() == ErrorClass::Unclassified)
    }

    /// Returns whether the rows or the input are to blame. A retry would fail again.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Database(error) => error.class() == ErrorClass::Permanent,
            Self::Append(_) | Self::Refused(_) => true,
        }
    }
}

impl From<TransitionError> for inbox::HandlerError {
    fn from(error: TransitionError) -> Self {
        match error {
            TransitionError::Database(error) => Self::Database(error),
            error @ (TransitionError::Append(_) | TransitionError::Refused(_)) => {
                Self::Refused(error.to_string())
            }
        }
    }
}

/// Handles an input that the decision table rejected, and returns what the worker does with the call.
async fn handle_rejection(
    tx: &mut Tx,
    rejection: Rejection,
    payment: &PaymentRow,
    subject: Subject<'_>,
    seen: &str,
) -> Result<NextStep, TransitionError> {
    match rejection {
        Rejection::Ended => Ok(NextStep::Stop),
        Rejection::Superseded | Rejection::NotInFlight => {
            let payment = payment.id();
            tracing::info!(%payment, ?rejection, seen, "a late outcome changed nothing");
            Ok(NextStep::Unchanged)
        }
        Rejection::Contradicted => {
            review::open_observed(tx, payment, subject, Reason::Contradicted, seen).await?;
            Ok(NextStep::Stop)
        }
    }
}
