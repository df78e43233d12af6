//! Records what an attempt has shown: one transaction, under the payment's row lock, whoever brings the news.
//!
//! A replaced attempt's news still counts if it is the key's own answer, because a key has one answer only. Whatever
//! else it saw is dropped: a newer attempt is out, and its outcome is the one that counts. A payment that has ended
//! never changes, so settling twice is settling once.

use std::fmt;
use std::time::Duration;

use contracts::PaymentId;
use database::{Database, UnitOfWork};
use uuid::Uuid;

use super::Limits;
use crate::advance::{self, Fault};
use crate::commands;
use crate::domain::{Finding, Next, Outcome, payment, refund};
use crate::processor::Forms;
use crate::store::intents::{self, Due, Kind, Shown};
use crate::store::{payments, refunds};

/// Which attempt the news is from.
pub(super) struct Attempt {
    pub(super) payment: PaymentId,
    pub(super) intent: Uuid,
    pub(super) number: i32,
}

/// What it brings.
#[derive(Debug)]
pub(super) enum News {
    /// The key's answer, or none.
    Answered(Outcome),
    /// What the processor's books say.
    LookedUp(Finding),
}

impl News {
    fn shown(&self) -> Shown<'_> {
        match self {
            Self::Answered(outcome) => Shown { text: outcome.to_string(), object: outcome.object() },
            Self::LookedUp(finding) => Shown { text: finding.to_string(), object: finding.object() },
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answered(outcome) => outcome.retry_after(),
            Self::LookedUp(finding) => finding.retry_after(),
        }
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown().text)
    }
}

/// Settles the attempt.
pub(super) async fn settle(
    database: &Database,
    forms: &Forms,
    limits: &Limits,
    attempt: &Attempt,
    news: &News,
) -> Result<(), Fault> {
    let mut tx = database.begin().await?;
    // First the payment, then its intent: everybody takes them in this order.
    payments::lock(&mut tx, attempt.payment).await?;
    let Due { intent, payment, deadlines } =
        intents::lock(&mut tx, attempt.intent, limits.patience()).await?;
    tx.set_traceparent(intent.traceparent.clone());
    // Or recorded before, by a commit that was not known to have succeeded.
    let superseded = intent.attempt != attempt.number || !intent.in_flight;
    let next = match intent.kind()? {
        Kind::Charge => {
            use payment::Input;
            let input = match news {
                News::Answered(outcome) => Input::Settled { outcome: outcome.clone(), superseded },
                News::LookedUp(finding) => {
                    Input::LookedUp { finding: finding.clone(), superseded, deadlines }
                }
            };
            advance::payment(&mut tx, forms, &payment, input).await?
        }
        Kind::Refund => {
            use refund::Input;
            let input = match news {
                News::Answered(outcome) => Input::Settled { outcome: outcome.clone(), superseded },
                News::LookedUp(finding) => {
                    Input::LookedUp { finding: finding.clone(), superseded, deadlines }
                }
            };
            let row = refunds::get(&mut tx, intent.id.into()).await?;
            advance::refund(&mut tx, &payment, &row, intent.in_flight, input).await?
        }
    };
    let pace = if matches!(next, Next::LookLater { .. }) { limits.look_up_pace } else { limits.pace };
    let pause = pace.pause(attempt.number, news.retry_after());
    intents::end(&mut tx, intent.id, news.shown(), next, pause).await?;
    commands::attempt_ended(&mut tx, &payment, intent.id, next).await?;
    tx.commit().await?;
    if let News::Answered(Outcome::NotExecuted { status: 401 | 403, .. })
    | News::LookedUp(Finding::Unanswered(Outcome::NotExecuted { status: 401 | 403, .. })) = news
    {
        let payment = attempt.payment;
        tracing::error!(%payment, "the processor refuses our key: check IDEM_PROCESSOR__SECRET_KEY");
    }
    Ok(())
}
