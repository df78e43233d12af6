//! One reconciliation: compares the processor's lists page by page with our records, and starts what follows from each verdict.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;
use std::ops::Range;

use chrono::{DateTime, TimeDelta, Utc};
use contracts::PaymentId;
use database::Database;
use serde_json::{Value, json};
use uuid::Uuid;

use super::list::{ProcessorList, ReconcileError};
use super::report::Report;
use crate::domain::review::{Reason, Subject};
use crate::domain::{CallKind, time_delta};
use crate::processor::{MAX_CLOCK_SKEW, Object};
use crate::settings::Settings;
use crate::store::reconciliation::{Compared, Comparison, OurRecord, ProcessorRecord, Verdict};
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

/// The longest window of a page, so that no statement reads a long period in which the processor has no objects.
const LONGEST_WINDOW: TimeDelta = TimeDelta::hours(6);

/// Reconciles once. A repetition changes nothing more.
pub(crate) async fn reconcile(
    database: &Database,
    settings: &Settings,
    start: Start,
) -> Result<Report, ReconcileError> {
    let processor = settings.processor.as_ref().ok_or(ReconcileError::NoProcessor)?;
    let mut connection = database.connection().await?;
    let opened = reconciliation::now(&mut connection).await?;
    let compared_until = reconciliation::compared_until(&mut connection).await?.unwrap_or(opened);
    drop(connection);
    let since = match start {
        Start::Ago(length) => opened - length,
        Start::At(time) => time,
        Start::Configured => compared_until.min(opened) - time_delta(settings.reconcile.look_back),
    };
    let comparison = Comparison {
        deployment: settings.policy.bodies.deployment(),
        period: since..opened,
        young_since: opened - time_delta(settings.reconcile.grace),
    };
    let report = Report::new(&comparison);
    let mut run = Run { database, comparison, orphans: BTreeMap::new(), report };
    for kind in [CallKind::Charge, CallKind::Refund] {
        run.compare(kind, ProcessorList::new(processor, kind, since - MAX_CLOCK_SKEW)).await?;
    }
    let report = run.conclude().await?;
    if matches!(start, Start::Configured) {
        reconciliation::set_compared_until(&mut database.connection().await?, opened).await?;
    }
    Ok(report)
}

struct Run<'a> {
    database: &'a Database,
    comparison: Comparison<'a>,
    /// Charges with our tag and without a record, by the processor's id. Their refunds decide how much is missing here.
    orphans: BTreeMap<String, Compared>,
    report: Report,
}

impl Run<'_> {
    /// Compares a list with our records of the period.
    ///
    /// The pages are newest first. The window of a page has our records that were sent between its oldest object and the window of the
    /// page before. If a request was retried, or the clocks differ, a record and its object meet on another page than the one of
    /// its window. Only such records are kept, so the memory does not depend on the number of records that agree.
    async fn compare(&mut self, kind: CallKind, mut list: ProcessorList<'_>) -> Result<(), ReconcileError> {
        // Records with an object on a page before their window, and records without an object on the page of their window.
        let (mut listed_early, mut unlisted) = (HashSet::<Uuid>::new(), HashMap::<Uuid, Compared>::new());
        let Range { start: since, end: mut window_end } = self.comparison.period;
        while !list.has_ended() || window_end > since {
            let page = list.next_page().await?;
            let created = page.iter().filter_map(|object| object.created);
            // The last page has no objects after it, so its window goes on to the start of the period.
            let oldest = if list.has_ended() { since } else { created.min().unwrap_or(since) };
            let window_start = oldest.max(window_end - LONGEST_WINDOW).max(since).min(window_end);
            let window = window_start..window_end;
            window_end = window_start;
            for row in self.compare_page(kind, &page, &window).await? {
                match (&row.ours, &row.theirs) {
                    (Some(ours), None) => {
                        if !listed_early.remove(&ours.id) {
                            unlisted.insert(ours.id, row);
                        }
                    }
                    (Some(ours), Some(_)) => {
                        if unlisted.remove(&ours.id).is_none() && ours.needs_object && !ours.is_in_window {
                            listed_early.insert(ours.id);
                        }
                        self.act(kind, &row).await?;
                    }
                    (None, Some(theirs)) if theirs.is_tagged && kind == CallKind::Charge => {
                        self.orphans.insert(theirs.processor_id.clone(), row);
                    }
                    (None, Some(theirs)) => {
                        self.subtract_from_orphan(theirs);
                        self.act(kind, &row).await?;
                    }
                    (None, None) => {}
                }
            }
        }
        for row in unlisted.values() {
            self.act(kind, row).await?;
        }
        Ok(())
    }

    async fn compare_page(
        &self,
        kind: CallKind,
        page: &[Object],
        window: &Range<DateTime<Utc>>,
    ) -> database::Result<Vec<Compared>> {
        let mut connection = self.database.connection().await?;
        let orphans = self.orphans.keys().collect();
        self.comparison.page(&mut connection, kind, json!(page), window, orphans).await
    }

    /// Subtracts a refund from its charge, if the charge is an orphan.
    fn subtract_from_orphan(&mut self, refund: &ProcessorRecord) {
        let charge = refund.payment_intent.as_ref().and_then(|charge| self.orphans.get_mut(charge));
        if let Some(charge) = charge.and_then(|orphan| orphan.theirs.as_mut())
            && !refund.is_without_effect
        {
            charge.refunded += refund.amount;
        }
    }

    /// Acts on the orphans. The refunds have been read.
    async fn conclude(mut self) -> Result<Report, ReconcileError> {
        for mut orphan in take(&mut self.orphans).into_values() {
            if orphan.theirs.as_ref().is_some_and(|theirs| theirs.refunded >= theirs.amount) {
                orphan.verdict = Verdict::Matched;
            }
            self.act(CallKind::Charge, &orphan).await?;
        }
        Ok(self.report)
    }

    /// Starts what follows from a verdict, and reports it.
    async fn act(&mut self, kind: CallKind, row: &Compared) -> database::Result<()> {
        let Compared { verdict, ours, theirs } = row;
        let review = match (verdict, ours, theirs) {
            (Verdict::Unsettled | Verdict::Denied, Some(ours), _) => {
                self.look_up(ours).await?;
                None
            }
            (Verdict::MissingHere, None, Some(theirs)) => {
                let subject = Subject::Orphan(&theirs.processor_id);
                Some(NewReview { tenant: None, subject, reason: Reason::Orphan, details: json!(theirs) })
            }
            (Verdict::MissingThere, Some(ours), _) => {
                Some(review(kind, ours, Reason::MissingThere, json!({ "ours": ours, "theirs": null })))
            }
            (Verdict::AmountDiffers, Some(ours), Some(theirs)) => {
                Some(review(kind, ours, Reason::AmountDiffers, json!({ "ours": ours, "theirs": theirs })))
            }
            _ => None,
        };
        let is_accepted = match review {
            Some(review) => {
                !self.is_open_after_review(review, ours.as_ref().map(|ours| ours.payment_id)).await?
            }
            None => false,
        };
        self.report.add(kind, if is_accepted { Verdict::Accepted } else { *verdict }, row);
        Ok(())
    }

    /// Requests a lookup by the worker. The processor's response then decides.
    async fn look_up(&self, ours: &OurRecord) -> database::Result<()> {
        let mut tx = self.database.begin().await?;
        request_look_up(&mut tx, ours.payment_id, ours.id).await?;
        tx.commit().await
    }

    /// Opens a review of a difference. Returns `false` if an operator has resolved the same difference before.
    async fn is_open_after_review(
        &self,
        new: NewReview<'_>,
        payment: Option<PaymentId>,
    ) -> database::Result<bool> {
        let mut tx = self.database.begin().await?;
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
}

fn review(kind: CallKind, ours: &OurRecord, reason: Reason, details: Value) -> NewReview<'_> {
    let subject = match kind {
        CallKind::Charge => Subject::Payment(ours.payment_id),
        CallKind::Refund => Subject::Refund(ours.payment_id, ours.id.into()),
    };
    NewReview { tenant: Some(&ours.tenant_id), subject, reason, details }
}
