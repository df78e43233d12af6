//! One comparison, and what follows from it: look-ups for what asking settles, reviews for the rest.

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::time::to_rfc3339;
use database::{Database, Tx};
use serde_json::{Value, json};

use super::Rules;
use super::books::{Entry, Kind, Row};
use super::compare::{Books, Verdict, compare};
use super::gather::{Gathered, Unread, gather};
use super::report::{Difference, Report};
use crate::Settings;
use crate::domain::Outcome;
use crate::processor::{Asked, Processor, Request};
use crate::review::{self, NewReview, Reason, Subject};
use crate::store::{intents, payments, reconciliation, reviews};

/// From when on the books are compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Since {
    /// So long before now.
    Back(chrono::TimeDelta),
    /// Then.
    At(DateTime<Utc>),
}

/// One round's surroundings.
pub(super) struct Round<'r> {
    pub(super) database: &'r Database,
    pub(super) settings: &'r Settings,
}

impl Round<'_> {
    /// Compares, acts, and tells. Running it twice changes nothing more.
    pub(super) async fn run(&self, since: Since) -> Result<Report, Unread> {
        let Settings { processor, forms, reconcile, .. } = self.settings;
        let processor = processor.as_ref().ok_or(Unread::NoProcessor)?;
        let opened = reconciliation::now(&mut self.database.connection().await?).await?;
        let since = match since {
            Since::Back(length) => opened - length,
            Since::At(moment) => moment,
        };
        let deployment = forms.deployment();
        let Gathered { entries, rows } = gather(self.database, processor, deployment, since, opened).await?;
        let mut report = Report::new(to_rfc3339(since), to_rfc3339(opened), deployment);
        let books = Books { entries: &entries, rows: &rows, young_since: opened - reconcile.grace() };
        for (kind, verdict) in compare(&books) {
            self.act(processor, kind, &verdict, &mut report).await?;
        }
        Ok(report.concluded())
    }

    async fn act(
        &self,
        processor: &Processor,
        kind: Kind,
        verdict: &Verdict<'_>,
        report: &mut Report,
    ) -> Result<(), Unread> {
        let counts = report.count(kind);
        match verdict {
            Verdict::Matched => counts.matched += 1,
            Verdict::Pending => counts.pending += 1,
            Verdict::Foreign => counts.foreign += 1,
            Verdict::Young => counts.young += 1,
            Verdict::Unsettled(row) => {
                counts.unsettled += 1;
                report.differences.push(of_row("unsettled", row));
                self.look_up(row).await?;
            }
            Verdict::Denied(row) if self.is_denial_answered(row).await? => counts.accepted += 1,
            Verdict::Denied(row) => {
                counts.denied += 1;
                report.differences.push(of_row("denied here", row));
                self.look_up(row).await?;
            }
            Verdict::MissingHere { entry, left } => {
                if !self.ask_people(orphan(entry), None).await? {
                    counts.accepted += 1;
                    return Ok(());
                }
                counts.missing_here += 1;
                report.differences.push(of_entry("missing here", entry, *left));
                self.give_back(processor, entry, *left, report).await;
            }
            Verdict::MissingThere(row) => {
                let details = json!({ "ours": ours(row), "theirs": null });
                let review = about(row, Reason::MissingThere, details);
                if self.ask_people(review, Some(row.payment)).await? {
                    counts.missing_there += 1;
                    report.differences.push(of_row("missing there", row));
                } else {
                    counts.accepted += 1;
                }
            }
            Verdict::AmountDiffers(row, entry) => {
                let details = json!({ "ours": ours(row), "theirs": theirs(entry) });
                let review = about(row, Reason::AmountDiffers, details);
                if self.ask_people(review, Some(row.payment)).await? {
                    counts.amount_differs += 1;
                    report.differences.push(of_row("different amount", row));
                    report.differences.push(of_entry("different amount", entry, entry.amount));
                } else {
                    counts.accepted += 1;
                }
            }
        }
        Ok(())
    }

    /// The worker asks, and the processor's answer settles it.
    async fn look_up(&self, row: &Row) -> database::Result<()> {
        let mut tx = self.database.begin().await?;
        payments::lock(&mut tx, row.payment).await?;
        intents::look_up_soon(&mut tx, row.id).await?;
        tx.commit().await
    }

    /// Opens the review; `false` if people have answered for exactly this.
    async fn ask_people(&self, new: NewReview<'_>, payment: Option<PaymentId>) -> database::Result<bool> {
        let mut tx = self.database.begin().await?;
        if let Some(payment) = payment {
            payments::lock(&mut tx, payment).await?;
        }
        if reviews::is_answered(&mut tx, &new).await? {
            tx.rollback().await?;
            return Ok(false);
        }
        review::open(&mut tx, new).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Whether people know already that the processor took what our books deny.
    async fn is_denial_answered(&self, row: &Row) -> database::Result<bool> {
        let mut tx: Tx = self.database.begin().await?;
        let answered = reviews::is_contradiction_answered(&mut tx, subject(row)).await?;
        tx.rollback().await?;
        Ok(answered)
    }

    /// Gives an orphan back, if the rules let us. The key is made of the orphan's name: once, whoever asks.
    async fn give_back(&self, processor: &Processor, entry: &Entry, left: i64, report: &mut Report) {
        let Rules { refund_orphans_up_to, refund_orphans_at_most, .. } = self.settings.reconcile;
        let is_allowed = entry.kind == Kind::Charge
            && left == entry.amount
            && left <= refund_orphans_up_to
            && report.orphans_refunded < refund_orphans_at_most;
        let Ok(currency) = entry.currency.parse() else { return };
        if !is_allowed {
            return;
        }
        let request = Request {
            asked: Asked::Refund(contracts::Money::new(left, currency)),
            key: format!("idem-orphan-{}-refund", entry.id),
            body: self.settings.forms.orphan_refund(&entry.id, left),
        };
        let outcome = processor.ask(&request).await;
        let object = entry.id.as_str();
        if matches!(outcome, Outcome::Succeeded(_) | Outcome::Processing { .. }) {
            report.orphans_refunded += 1;
            tracing::warn!(object, left, "OrphanRefunded");
        } else {
            tracing::error!(object, left, %outcome, "an orphan was not given back; the next round tries again");
        }
    }
}

fn subject(row: &Row) -> Subject<'_> {
    match row.kind {
        Kind::Charge => Subject::Payment(row.payment),
        Kind::Refund => Subject::Refund(row.payment, row.id.into()),
    }
}

fn about(row: &Row, reason: Reason, details: Value) -> NewReview<'_> {
    NewReview { tenant: Some(&row.tenant), subject: subject(row), reason, details }
}

fn orphan(entry: &Entry) -> NewReview<'_> {
    let details = theirs(entry);
    NewReview { tenant: None, subject: Subject::Orphan(&entry.id), reason: Reason::Orphan, details }
}

fn ours(row: &Row) -> Value {
    json!({ "amount": row.amount, "currency": row.currency, "processor_id": row.object })
}

fn theirs(entry: &Entry) -> Value {
    json!({
        "kind": name(entry.kind),
        "processor_id": entry.id,
        "amount": entry.amount,
        "currency": entry.currency,
        "reference": entry.reference,
        "payment_intent": entry.parent,
    })
}

fn of_row(what: &'static str, row: &Row) -> Difference {
    Difference {
        what,
        kind: name(row.kind),
        id: Some(row.id.to_string()),
        processor_id: row.object.clone(),
        amount: row.amount,
        currency: row.currency.clone(),
    }
}

fn of_entry(what: &'static str, entry: &Entry, amount: i64) -> Difference {
    Difference {
        what,
        kind: name(entry.kind),
        id: entry.reference.map(|reference| reference.to_string()),
        processor_id: Some(entry.id.clone()),
        amount,
        currency: entry.currency.clone(),
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Charge => "charge",
        Kind::Refund => "refund",
    }
}
