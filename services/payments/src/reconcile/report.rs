//! The report of a reconciliation, as text for operators and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use database::time::to_rfc3339;
use operators::table::{printable, table};
use serde::Serialize;
use strum::VariantArray;

use crate::domain::CallKind;
use crate::store::reconciliation::{Compared, Comparison, Verdict};

impl Verdict {
    /// Returns the name and the consequence.
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Matched => ("matched", ""),
            Self::Pending => ("pending", "open on both sides"),
            Self::Young => ("young", "younger than the grace period"),
            Self::Foreign => ("foreign", "of another deployment"),
            Self::Accepted => ("accepted", "resolved by an operator"),
            Self::Unsettled => ("unsettled", "lookup requested"),
            Self::Denied => ("denied here", "lookup requested; a review may follow"),
            Self::MissingHere => ("missing here", "in review"),
            Self::MissingThere => ("missing there", "in review"),
            Self::AmountDiffers => ("different amount", "in review"),
        }
    }

    fn is_difference(self) -> bool {
        self >= Self::Unsettled
    }
}

/// The number of objects with each verdict.
type Counts = BTreeMap<Verdict, usize>;

/// One object whose records differ.
#[derive(Debug, Serialize)]
struct Difference {
    what: &'static str,
    kind: &'static str,
    /// Our id, if there is a row.
    id: Option<String>,
    /// The processor's id, if it is known.
    processor_id: Option<String>,
    /// Minor units.
    amount: i64,
    currency: String,
}

/// The report.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    since: String,
    until: String,
    deployment: String,
    pub(crate) agrees: bool,
    pub(crate) counts: BTreeMap<&'static str, Counts>,
    differences: Vec<Difference>,
}

impl Report {
    pub(super) fn new(comparison: &Comparison<'_>) -> Self {
        let none: Counts = Verdict::VARIANTS.iter().map(|verdict| (*verdict, 0)).collect();
        Self {
            since: to_rfc3339(comparison.period.start),
            until: to_rfc3339(comparison.period.end),
            deployment: comparison.deployment.to_owned(),
            agrees: true,
            counts: [CallKind::Charge, CallKind::Refund].map(|kind| (plural(kind), none.clone())).into(),
            differences: Vec::new(),
        }
    }

    /// Counts a verdict. A difference is listed, too.
    pub(super) fn add(&mut self, kind: CallKind, verdict: Verdict, row: &Compared) {
        *self.counts.entry(plural(kind)).or_default().entry(verdict).or_default() += 1;
        if !verdict.is_difference() {
            return;
        }
        self.agrees = false;
        let (what, kind) = (verdict.text().0, kind.into());
        self.differences.extend(row.ours.as_ref().map(|ours| Difference {
            what,
            kind,
            id: Some(ours.id.to_string()),
            processor_id: ours.processor_id.clone(),
            amount: ours.amount,
            currency: ours.currency.clone(),
        }));
        let is_about_theirs = matches!(verdict, Verdict::MissingHere | Verdict::AmountDiffers);
        self.differences.extend(row.theirs.as_ref().filter(|_| is_about_theirs).map(|theirs| Difference {
            what,
            kind,
            id: theirs.reference.map(|reference| reference.to_string()),
            processor_id: Some(theirs.processor_id.clone()),
            amount: theirs.amount - theirs.refunded,
            currency: theirs.currency.clone(),
        }));
    }

    /// Returns the number of records that differ.
    pub(crate) fn differences(&self) -> usize {
        self.differences.len()
    }

    pub(crate) fn text(&self) -> String {
        let mut heading = vec![""];
        heading.extend(self.counts.keys());
        heading.push("");
        let lines = Verdict::VARIANTS.iter().map(|verdict| {
            let (name, meaning) = verdict.text();
            let numbers = self.counts.values().map(|counts| counts[verdict].to_string());
            [name.to_owned()].into_iter().chain(numbers).chain([meaning.to_owned()]).collect()
        });
        let mut text =
            format!("deployment {} from {} to {}\n", printable(&self.deployment), self.since, self.until);
        text.push_str(&table(&heading, &lines.collect::<Vec<_>>()));
        for difference in &self.differences {
            let Difference { what, kind, id, processor_id, amount, currency } = difference;
            let id = id.as_deref().unwrap_or("-");
            let processor_id = printable(processor_id.as_deref().unwrap_or("-"));
            let _ = writeln!(
                text,
                "{what}: {kind} {id}, processor {processor_id}, {amount} {}",
                printable(currency)
            );
        }
        text.push_str(if self.agrees {
            "the records agree\n"
        } else {
            "the records differ: see payments review list\n"
        });
        text
    }
}

fn plural(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Charge => "charges",
        CallKind::Refund => "refunds",
    }
}
