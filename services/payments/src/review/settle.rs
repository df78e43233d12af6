//! A person's answer on its way into the books: the same decisions as for the processor's own word.

use std::time::Duration;

use contracts::RefundId;
use database::Tx;
use serde::Serialize;
use uuid::Uuid;

use crate::Settings;
use crate::advance::{self, Fault};
use crate::domain::review::{Effect, Resolution, Standing, Subject, effect};
use crate::domain::{Finding, Next, Outcome, payment, refund};
use crate::store::intents::{self, Due, Shown};
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds;
use crate::store::reviews::ReviewRow;

/// How the books have changed.
#[derive(Debug, Serialize)]
pub(super) struct Settled {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

/// Why the answer is not taken, and what to do instead.
type Instead = String;

/// Settles the review's subject by the answer. `None` if the books say so already. The payment is locked.
pub(super) async fn settle(
    tx: &mut Tx,
    settings: &Settings,
    payment: Option<&PaymentRow>,
    review: &ReviewRow,
    resolution: Resolution,
    processor_id: Option<&str>,
) -> Result<Result<Option<Settled>, Instead>, Fault> {
    let from = match (review.subject()?, payment) {
        (Subject::Payment(_), Some(payment)) => Standing::of_payment(&payment.state()?),
        (Subject::Refund(_, refund), Some(_)) => {
            Standing::of_refund(&refunds::get(tx, refund).await?.state()?)
        }
        (Subject::Orphan(_), _) | (_, None) => Standing::Orphan,
    };
    let outcome = match effect(from, resolution, processor_id) {
        Ok(Effect::Settle(outcome)) => outcome,
        Ok(Effect::Close) => return Ok(Ok(None)),
        Err(instead) => return Ok(Err(instead.to_owned())),
    };
    let to = match (review.subject()?, payment) {
        (Subject::Payment(_), Some(row)) => settle_payment(tx, settings, row, outcome).await?,
        (Subject::Refund(_, refund), Some(row)) => settle_refund(tx, settings, row, refund, outcome).await?,
        (Subject::Orphan(_), _) | (_, None) => from,
    };
    if from == to {
        return Ok(Err(
            "the books did not change: an attempt is under way; wait until it has ended".to_owned()
        ));
    }
    Ok(Ok(Some(Settled { from: name(from), to: name(to) })))
}

async fn settle_payment(
    tx: &mut Tx,
    settings: &Settings,
    row: &PaymentRow,
    outcome: Outcome,
) -> Result<Standing, Fault> {
    let input = payment::Input::Settled { outcome: outcome.clone(), superseded: false };
    let next = advance::payment(tx, &settings.forms, row, input).await?;
    go_on(tx, row.id, &outcome, next).await?;
    Ok(Standing::of_payment(&payments::lock(tx, row.id()).await?.state()?))
}

async fn settle_refund(
    tx: &mut Tx,
    settings: &Settings,
    payment: &PaymentRow,
    id: RefundId,
    outcome: Outcome,
) -> Result<Standing, Fault> {
    let row = refunds::get(tx, id).await?;
    let Due { deadlines, .. } = intents::lock(tx, id.uuid(), settings.limits.patience()).await?;
    let input = match row.state()? {
        // What was given back can only have come back: as if the processor's own books said so.
        refund::State::Succeeded { id: object } => {
            let finding = Finding::Found { object, outcome: outcome.clone() };
            refund::Input::LookedUp { finding, superseded: false, deadlines }
        }
        refund::State::Pending | refund::State::Unknown | refund::State::Failed { .. } => {
            refund::Input::Settled { outcome: outcome.clone(), superseded: false }
        }
    };
    // It may never have been tried; a person has found its end all the same.
    let next = advance::refund(tx, payment, &row, true, input).await?;
    go_on(tx, id.uuid(), &outcome, next).await?;
    Ok(Standing::of_refund(&refunds::get(tx, id).await?.state()?))
}

/// What the worker does from here on: nothing, or it looks at the processor's books for what they still have to tell.
async fn go_on(tx: &mut Tx, intent: Uuid, outcome: &Outcome, next: Next) -> database::Result<()> {
    let shown = Shown { text: format!("review: {outcome}"), object: outcome.object() };
    intents::end(tx, intent, shown, next, Duration::ZERO).await
}

fn name(standing: Standing) -> &'static str {
    match standing {
        Standing::Open | Standing::RefundOpen => "unknown",
        Standing::Captured => "captured",
        Standing::NotCaptured => "not captured",
        Standing::Untried => "requested",
        Standing::Refunded => "refunded",
        Standing::NotRefunded => "not refunded",
        Standing::Orphan => "nothing",
    }
}
