//! One reconciliation: reads the records page by page, compares them, and starts what follows from each verdict.

use chrono::{DateTime, TimeDelta, Utc};
use contracts::PaymentId;
use database::Database;
use database::time::to_rfc3339;
use serde_json::{Value, json};

use super::read::{ProcessorList, ReconcileError, next_sent, records_of_page};
use super::report::{Difference, Report};
use crate::domain::reconciliation::{Comparison, OurRecord, ProcessorRecord, Verdict};
use crate::domain::review::{Reason, Subject};
use crate::domain::{CallKind, time_delta};
use crate::processor::MAX_CLOCK_SKEW;
use crate::settings::Settings;
use crate::store::reconciliation::{Period, SentPosition};
use crate::store::reviews::NewReview;
use crate::store::{payments, reconciliation, reviews};
use crate::transitions::{open_review, request_look_up};

/// The start of the compared period.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start {
    /// This length before now.
    Ago(TimeDelta),
    At(DateTime<Utc>),
    /// As far back as the settings say.
    Configured,
}

/// The longest part of the period that is compared at a time. The memory of a reconciliation follows from it.
const PART: TimeDelta = TimeDelta::hours(6);

/// Reconciles once. A repetition changes nothing more.
pub(crate) async fn reconcile(
    database: &Database,
    settings: &Settings,
    start: Start,
) -> Result<Report, ReconcileError> {
    let processor = settings.processor.as_ref().ok_or(ReconcileError::NoProcessor)?;
    let (opened, compared_until) = opened(database).await?;
    let since = match start {
        Start::Ago(length) => opened - length,
        Start::At(time) => time,
        Start::Configured => compared_until.min(opened) - time_delta(settings.reconcile.look_back),
    };
    let (period, deployment) = (Period { since, opened }, settings.policy.bodies.deployment());
    let mut comparison = Comparison::new(opened - time_delta(settings.reconcile.grace));
    let mut report = Report::new(to_rfc3339(since), to_rfc3339(opened), deployment);
    for kind in [CallKind::Charge, CallKind::Refund] {
        let (mut from, mut sent) = (since - MAX_CLOCK_SKEW, SentPosition::at(since));
        loop {
            let end = Some(from + PART).filter(|end| *end < opened);
            let mut list = ProcessorList::new((processor, deployment), kind, from, end);
            while let Some(theirs) = list.next_page().await? {
                let ours = records_of_page(database, period, kind, &theirs).await?;
                for (kind, verdict) in comparison.listed(theirs, &ours) {
                    act(database, kind, &verdict, &mut report).await?;
                }
            }
            while let Some(ours) = next_sent(database, period, kind, &mut sent, end.unwrap_or(opened)).await?
            {
                comparison.sent(ours);
            }
            let Some(end) = end else { break };
            from = end;
        }
    }
    for (kind, verdict) in comparison.conclude() {
        act(database, kind, &verdict, &mut report).await?;
    }
    if matches!(start, Start::Configured) {
        reconciliation::set_compared_until(&mut database.connection().await?, opened).await?;
    }
    Ok(report.concluded())
}

/// Returns the present time, and the time until which everything was compared before.
async fn opened(database: &Database) -> database::Result<(DateTime<Utc>, DateTime<Utc>)> {
    let mut connection = database.connection().await?;
    let now = reconciliation::now(&mut connection).await?;
    Ok((now, reconciliation::compared_until(&mut connection).await?.unwrap_or(now)))
}

async fn act(
    database: &Database,
    kind: CallKind,
    verdict: &Verdict,
    report: &mut Report,
) -> database::Result<()> {
    let counts = report.count(kind);
    match verdict {
        Verdict::Matched => counts.matched += 1,
        Verdict::Pending => counts.pending += 1,
        Verdict::Foreign => counts.foreign += 1,
        Verdict::Young => counts.young += 1,
        Verdict::Unsettled(ours) => {
            counts.unsettled += 1;
            report.differences.push(of_ours("unsettled", ours));
            look_up(database, ours).await?;
        }
        Verdict::Denied(ours) if is_denial_resolved(database, ours).await? => counts.accepted += 1,
        Verdict::Denied(ours) => {
            counts.denied += 1;
            report.differences.push(of_ours("denied here", ours));
            look_up(database, ours).await?;
        }
        Verdict::MissingHere { record, left } => {
            if is_open_after_review(database, orphan(record), None).await? {
                counts.missing_here += 1;
                report.differences.push(of_theirs("missing here", record, *left));
            } else {
                counts.accepted += 1;
            }
        }
        Verdict::MissingThere(ours) => {
            let details = json!({ "ours": details_of_ours(ours), "theirs": null });
            let review = review_of(ours, Reason::MissingThere, details);
            if is_open_after_review(database, review, Some(ours.payment)).await? {
                counts.missing_there += 1;
                report.differences.push(of_ours("missing there", ours));
            } else {
                counts.accepted += 1;
            }
        }
        Verdict::AmountDiffers(ours, theirs) => {
            let details = json!({ "ours": details_of_ours(ours), "theirs": details_of_theirs(theirs) });
            let review = review_of(ours, Reason::AmountDiffers, details);
            if is_open_after_review(database, review, Some(ours.payment)).await? {
                counts.amount_differs += 1;
                report.differences.push(of_ours("different amount", ours));
                report.differences.push(of_theirs("different amount", theirs, theirs.amount));
            } else {
                counts.accepted += 1;
            }
        }
    }
    Ok(())
}

/// Requests a lookup by the worker. The processor's response then decides.
async fn look_up(database: &Database, ours: &OurRecord) -> database::Result<()> {
    let mut tx = database.begin().await?;
    request_look_up(&mut tx, ours.payment, ours.id).await?;
    tx.commit().await
}

/// Opens a review of a difference. Returns `false` if an operator has resolved the same difference before.
async fn is_open_after_review(
    database: &Database,
    new: NewReview<'_>,
    payment: Option<PaymentId>,
) -> database::Result<bool> {
    let mut tx = database.begin().await?;
    if let Some(payment) = payment {
        payments::lock(&mut tx, payment).await?;
    }
    if reviews::is_resolved(&mut tx, &new).await? {
        tx.rollback().await?;
        return Ok(false);
    }
    open_review(&mut tx, new).await?;
    tx.commit().await?;
    Ok(true)
}

/// Returns whether an operator knows already that the processor moved money which our record denies.
async fn is_denial_resolved(database: &Database, ours: &OurRecord) -> database::Result<bool> {
    let mut tx = database.begin().await?;
    let resolved = reviews::is_contradiction_resolved(&mut tx, subject(ours)).await?;
    tx.rollback().await?;
    Ok(resolved)
}

fn subject(ours: &OurRecord) -> Subject<'_> {
    match ours.kind {
        CallKind::Charge => Subject::Payment(ours.payment),
        CallKind::Refund => Subject::Refund(ours.payment, ours.id.into()),
    }
}

fn review_of(ours: &OurRecord, reason: Reason, details: Value) -> NewReview<'_> {
    NewReview { tenant: Some(&ours.tenant), subject: subject(ours), reason, details }
}

fn orphan(theirs: &ProcessorRecord) -> NewReview<'_> {
    let details = details_of_theirs(theirs);
    NewReview { tenant: None, subject: Subject::Orphan(&theirs.id), reason: Reason::Orphan, details }
}

fn details_of_ours(ours: &OurRecord) -> Value {
    json!({ "amount": ours.amount, "currency": ours.currency, "processor_id": ours.object })
}

fn details_of_theirs(theirs: &ProcessorRecord) -> Value {
    json!({
        "kind": theirs.kind.to_string(),
        "processor_id": theirs.id,
        "amount": theirs.amount,
        "currency": theirs.currency,
        "reference": theirs.reference,
        "payment_intent": theirs.payment_intent,
    })
}

fn of_ours(what: &'static str, ours: &OurRecord) -> Difference {
    Difference {
        what,
        kind: ours.kind.into(),
        id: Some(ours.id.to_string()),
        processor_id: ours.object.clone(),
        amount: ours.amount,
        currency: ours.currency.clone(),
    }
}

fn of_theirs(what: &'static str, theirs: &ProcessorRecord, amount: i64) -> Difference {
    Difference {
        what,
        kind: theirs.kind.into(),
        id: theirs.reference.map(|reference| reference.to_string()),
        processor_id: Some(theirs.id.clone()),
        amount,
        currency: theirs.currency.clone(),
    }
}
