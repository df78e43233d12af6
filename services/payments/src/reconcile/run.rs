//! One reconciliation: reads the records, compares them, and starts what follows from each verdict.

use chrono::{DateTime, TimeDelta, Utc};
use contracts::PaymentId;
use database::Database;
use database::time::to_rfc3339;
use serde_json::{Value, json};

use super::read::{ReconcileError, our_records, processor_records};
use super::report::{Difference, Report};
use crate::domain::reconciliation::{OurRecord, ProcessorRecord, Records, Verdict, compare_records};
use crate::domain::review::{Reason, Subject};
use crate::domain::{CallKind, time_delta};
use crate::settings::Settings;
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

/// Reconciles once. A repetition changes nothing more.
pub(crate) async fn reconcile(
    database: &Database,
    settings: &Settings,
    start: Start,
) -> Result<Report, ReconcileError> {
    let processor = settings.processor.as_ref().ok_or(ReconcileError::NoProcessor)?;
    let opened = reconciliation::now(&mut database.connection().await?).await?;
    let since = match start {
        Start::Ago(length) => opened - length,
        Start::At(time) => time,
        Start::Configured => opened - time_delta(settings.reconcile.look_back),
    };
    let deployment = settings.bodies.deployment();
    let theirs = processor_records(processor, deployment, since).await?;
    let ours = our_records(database, &theirs, since, opened).await?;
    let young_since = opened - time_delta(settings.reconcile.grace);
    let mut report = Report::new(to_rfc3339(since), to_rfc3339(opened), deployment);
    for (kind, verdict) in compare_records(&Records { theirs: &theirs, ours: &ours, young_since }) {
        act(database, kind, &verdict, &mut report).await?;
    }
    Ok(report.concluded())
}

async fn act(
    database: &Database,
    kind: CallKind,
    verdict: &Verdict<'_>,
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

/// Requests a lookup by the worker. The processor's response then settles the difference.
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
