//! Takes due intents: one short transaction that never waits for anybody, and no call before its commit.

use database::{Database, Tx, UnitOfWork};

use super::Limits;
use super::poison;
use super::settle::Attempt;
use crate::advance::{self, Fault};
use crate::domain::{Next, payment, refund};
use crate::processor::{Asked, Forms, LookUp, Place, Request};
use crate::store::intents::{self, Due, IntentRow, Kind};
use crate::store::payments::PaymentRow;
use crate::store::refunds;

/// A call that is to be made, by whoever took it.
pub(super) struct Call {
    pub(super) attempt: Attempt,
    pub(super) ask: Ask,
}

/// What is asked of the processor.
pub(super) enum Ask {
    /// To do it.
    Request(Request),
    /// What became of it.
    LookUp(LookUp),
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
    let due = intents::due(&mut tx, limit, limits.patience()).await?;
    if due.is_empty() {
        tx.rollback().await?;
        return Ok(Taken::default());
    }
    let mut taken = Taken { calls: Vec::new(), found: due.len() };
    for due in due {
        let (payment, intent) = (due.payment.id(), due.intent.id);
        match tx.savepoint(async |tx| begin(tx, forms, limits, due).await).await {
            Ok(call) => taken.calls.extend(call),
            Err(fault) if fault.is_passing() => return Err(fault),
            // One that nobody can take must not keep the others from being taken.
            Err(fault) => poison::note(&mut tx, forms, limits, (payment, intent), &fault).await?,
        }
    }
    tx.commit().await?;
    Ok(taken)
}

/// Begins the next attempt or look-up, if there is to be one.
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
    let number = match next {
        Next::Attempt => intents::begin(tx, intent.id, limits.lease).await?,
        Next::LookUp => intents::begin_look_up(tx, intent.id, limits.lease).await?,
        Next::Rest => {
            intents::rest(tx, intent.id).await?;
            return Ok(None);
        }
        Next::Keep | Next::Retry { .. } | Next::LookLater { .. } => return Ok(None),
    };
    let attempt = Attempt { payment: payment.id(), intent: intent.id, number };
    let ask = if next == Next::LookUp {
        Ask::LookUp(look_up(forms, limits, asked, &intent, &payment)?)
    } else {
        let key = intent.provider_key;
        #[cfg(feature = "mutant-key-per-attempt")] // the processor cannot know that it was asked before
        let key = format!("{key}-{number}");
        Ask::Request(Request { asked, key, body: intent.request })
    };
    Ok(Some(Call { attempt, ask }))
}

/// Where to look: under the processor's own name, or among everything that it made since the first attempt.
fn look_up(
    forms: &Forms,
    limits: &Limits,
    asked: Asked,
    intent: &IntentRow,
    payment: &PaymentRow,
) -> Result<LookUp, Fault> {
    let place = match (&intent.processor_object, payment.state()?) {
        (Some(object), _) => Place::Object(object.clone()),
        (None, payment::State::Captured(receipt)) => match asked {
            Asked::Charge(_) => Place::Object(receipt.id),
            Asked::Refund(_) => Place::RefundsOf(receipt.id),
        },
        (None, _) => Place::window(intent.sent_since(), limits.key_life),
    };
    Ok(LookUp { asked, place, mark: forms.mark(intent.id), key: intent.provider_key.clone() })
}
