//! Records what an attempt has shown: one transaction, under the payment's row lock, whoever brings the news.
//!
//! A replaced attempt's news still counts if it is the key's own answer, because a key has one answer only. Whatever
//! else it saw is dropped: a newer attempt is out, and its outcome is the one that counts. A payment that has ended
//! never changes, so settling twice is settling once.

use std::time::Duration;

use contracts::PaymentId;
use database::Database;
use uuid::Uuid;

use crate::advance::{self, Fault};
use crate::domain::{Doubt, Outcome, payment, refund};
use crate::processor::Forms;
use crate::store::intents::{self, Kind};
use crate::store::{payments, refunds};

/// Which attempt the news is from.
pub(super) struct Attempt {
    pub(super) payment: PaymentId,
    pub(super) intent: Uuid,
    pub(super) number: i32,
}

/// Settles the attempt. If it is to be repeated, it comes due after `pause`.
pub(super) async fn settle(
    database: &Database,
    forms: &Forms,
    attempt: &Attempt,
    outcome: &Outcome,
    pause: Duration,
) -> Result<(), Fault> {
    let mut tx = database.begin().await?;
    // First the payment, then its intent: everybody takes them in this order.
    let payment = payments::lock(&mut tx, attempt.payment).await?;
    let intent = intents::lock(&mut tx, attempt.intent).await?;
    tx.set_traceparent(intent.traceparent.clone());
    let superseded = intent.attempt != attempt.number;
    let next = match intent.kind()? {
        Kind::Charge => {
            let input = payment::Input::Settled { outcome: outcome.clone(), superseded };
            advance::payment(&mut tx, forms, &payment, input).await?
        }
        Kind::Refund => {
            let row = refunds::get(&mut tx, intent.id.into()).await?;
            let input = refund::Input::Settled { outcome: outcome.clone(), superseded };
            advance::refund(&mut tx, &payment, &row, intent.in_flight, input).await?
        }
    };
    intents::end(&mut tx, intent.id, outcome, next, pause).await?;
    tx.commit().await?;
    warn_people(attempt, outcome);
    Ok(())
}

/// Says aloud what no retry mends.
fn warn_people(attempt: &Attempt, outcome: &Outcome) {
    let (payment, intent) = (attempt.payment, attempt.intent);
    match outcome {
        Outcome::Unknown(doubt @ (Doubt::OtherAmount | Doubt::KeyMismatch)) => {
            tracing::error!(%payment, %intent, %doubt, "the processor's answer is not about this request: people must look");
        }
        Outcome::Unknown(Doubt::ServerError { replayed: true, .. }) => {
            tracing::error!(%payment, %intent, "the processor will only repeat its failure: people must look");
        }
        Outcome::NotExecuted { status: 401 | 403, .. } => {
            tracing::error!(%payment, "the processor refuses our key: check IDEM_PROCESSOR__SECRET_KEY");
        }
        Outcome::Unknown(Doubt::NoAnswer | Doubt::ServerError { .. } | Doubt::Unreadable { .. })
        | Outcome::Succeeded(_)
        | Outcome::Declined { .. }
        | Outcome::NotSent
        | Outcome::NotExecuted { .. }
        | Outcome::Rejected { .. }
        | Outcome::Processing
        | Outcome::RequiresAction { .. } => {}
    }
}
