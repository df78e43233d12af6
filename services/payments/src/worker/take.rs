//! Takes due intents: one short transaction that never waits for anybody, and no call before its commit.

use contracts::PaymentId;
use database::{Database, Tx};

use super::Limits;
use super::settle::Attempt;
use crate::advance::{self, Fault};
use crate::domain::{Next, payment, refund};
use crate::processor::{Asked, Forms, Request};
use crate::store::intents::{self, Due, Kind};
use crate::store::refunds;

/// A call that is to be made, by whoever took it.
pub(super) struct Call {
    pub(super) attempt: Attempt,
    pub(super) request: Request,
}

/// What came of looking for due intents.
#[derive(Default)]
pub(super) struct Taken {
    /// The calls that are to be made.
    pub(super) calls: Vec<Call>,
    /// How many intents were due, those included that need no call any more.
    pub(super) found: usize,
}

/// Takes up to `limit` due intents. What must not be tried any more is ended here instead.
pub(super) async fn take(
    database: &Database,
    forms: &Forms,
    limits: &Limits,
    limit: usize,
) -> Result<Taken, Fault> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut tx = database.begin().await?;
    let due = intents::due(&mut tx, limit, limits.key_life).await?;
    if due.is_empty() {
        tx.rollback().await?;
        return Ok(Taken::default());
    }
    let mut taken = Taken { calls: Vec::new(), found: due.len() };
    for due in due {
        let intent = due.intent.id;
        match tx.savepoint(async |tx| begin(tx, forms, limits, due).await).await {
            Ok(call) => taken.calls.extend(call),
            Err(fault) if fault.is_passing() => return Err(fault),
            // One that nobody can take must not keep the others from being taken.
            Err(fault) => {
                tracing::error!(%intent, %fault, "an intent cannot be taken: people must look");
                intents::postpone(&mut tx, intent, limits.pace.longest).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(taken)
}

/// Begins the next attempt, if there is to be one.
async fn begin(tx: &mut Tx, forms: &Forms, limits: &Limits, due: Due) -> Result<Option<Call>, Fault> {
    let Due { intent, payment, deadlines } = due;
    tx.set_traceparent(intent.traceparent.clone());
    let (asked, next) = match intent.kind()? {
        Kind::Charge => {
            let next = advance::payment(tx, forms, &payment, payment::Input::Due(deadlines)).await?;
            (Asked::Charge(payment.amount()?), next)
        }
        Kind::Refund => {
            let row = refunds::get(tx, intent.id.into()).await?;
            let input = refund::Input::Due(deadlines);
            let next = advance::refund(tx, &payment, &row, intent.in_flight, input).await?;
            (Asked::Refund(payment.in_its_currency(row.amount)?), next)
        }
    };
    match next {
        Next::Attempt => {
            let number = intents::begin(tx, intent.id, limits.lease).await?;
            let attempt = Attempt { payment: PaymentId::from(intent.payment_id), intent: intent.id, number };
            let key = intent.provider_key;
            #[cfg(feature = "mutant-key-per-attempt")] // the processor cannot know that it was asked before
            let key = format!("{key}-{number}");
            let request = Request { asked, key, body: intent.request };
            Ok(Some(Call { attempt, request }))
        }
        Next::Rest => {
            if deadlines.key_forgotten {
                let (payment, intent) = (payment.id, intent.id);
                tracing::error!(%payment, %intent, "the processor's memory of the key has ended: people must look");
            }
            intents::rest(tx, intent.id).await?;
            Ok(None)
        }
        Next::Keep | Next::Retry { .. } => Ok(None),
    }
}
