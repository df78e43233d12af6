//! The report of a reconciliation, as operators read it.

use std::collections::BTreeMap;

use database::time::to_rfc3339;
use serde::Serialize;
use strum::VariantArray;

use crate::domain::CallKind;
use crate::store::reconciliation::{Compared, Comparison, Verdict};

impl Verdict {
    fn is_difference(self) -> bool {
        self >= Self::Unsettled
    }
}

/// The number of objects with each verdict.
type Counts = BTreeMap<Verdict, usize>;

/// One object whose records differ.
#[derive(Debug, Serialize)]
struct Difference {
    what: Verdict,
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
        let kind = kind.into();
        self.differences.extend(row.ours.as_ref().map(|ours| Difference {
            what: verdict,
            kind,
            id: Some(ours.id.to_string()),
            processor_id: ours.processor_id.clone(),
            amount: ours.amount,
            currency: ours.currency.clone(),
        }));
        let is_about_theirs = matches!(verdict, Verdict::MissingHere | Verdict::AmountDiffers);
        self.differences.extend(row.theirs.as_ref().filter(|_| is_about_theirs).map(|theirs| Difference {
            what: verdict,
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
}

fn plural(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Charge => "charges",
        CallKind::Refund => "refunds",
    }
}
