//! The report of a reconciliation, as text for operators and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use operators::table::{printable, table};
use serde::Serialize;

use crate::domain::CallKind;

/// The number of objects with each verdict.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    pub(super) matched: usize,
    pub(super) pending: usize,
    pub(super) young: usize,
    pub(super) foreign: usize,
    /// An operator has resolved the difference.
    pub(super) accepted: usize,
    pub(super) unsettled: usize,
    pub(super) denied: usize,
    pub(super) missing_here: usize,
    pub(super) missing_there: usize,
    pub(super) amount_differs: usize,
}

impl Counts {
    /// Returns whether no difference is left.
    fn agree(&self) -> bool {
        self.unsettled + self.denied + self.missing_here + self.missing_there + self.amount_differs == 0
    }

    /// Returns name, number and consequence of each verdict.
    fn lines(&self) -> [(&'static str, usize, &'static str); 10] {
        [
            ("matched", self.matched, ""),
            ("pending", self.pending, "open on both sides"),
            ("young", self.young, "younger than the grace period"),
            ("foreign", self.foreign, "of another deployment"),
            ("accepted", self.accepted, "resolved by an operator"),
            ("unsettled", self.unsettled, "lookup requested"),
            ("denied here", self.denied, "lookup requested; a review may follow"),
            ("missing here", self.missing_here, "in review"),
            ("missing there", self.missing_there, "in review"),
            ("different amount", self.amount_differs, "in review"),
        ]
    }
}

/// One object whose records differ.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Difference {
    pub(super) what: &'static str,
    pub(super) kind: &'static str,
    /// Our id, if there is a row.
    pub(super) id: Option<String>,
    /// The processor's id, if it is known.
    pub(super) processor_id: Option<String>,
    /// Minor units.
    pub(super) amount: i64,
    pub(super) currency: String,
}

/// The report.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(super) since: String,
    pub(super) until: String,
    pub(super) deployment: String,
    pub(crate) agrees: bool,
    pub(crate) counts: BTreeMap<&'static str, Counts>,
    pub(super) differences: Vec<Difference>,
}

impl Report {
    pub(super) fn new(since: String, until: String, deployment: &str) -> Self {
        let counts = [CallKind::Charge, CallKind::Refund].map(|kind| (plural(kind), Counts::default()));
        Self {
            since,
            until,
            deployment: deployment.to_owned(),
            agrees: true,
            counts: BTreeMap::from(counts),
            differences: Vec::new(),
        }
    }

    pub(super) fn count(&mut self, kind: CallKind) -> &mut Counts {
        self.counts.entry(plural(kind)).or_default()
    }

    /// Sets `agrees` from the counts.
    pub(super) fn concluded(mut self) -> Self {
        self.agrees = self.counts.values().all(Counts::agree);
        self
    }

    /// Returns the number of records that differ.
    pub(crate) fn differences(&self) -> usize {
        self.differences.len()
    }

    pub(crate) fn text(&self) -> String {
        let columns: Vec<_> = self.counts.values().map(Counts::lines).collect();
        let mut heading = vec![""];
        heading.extend(self.counts.keys());
        heading.push("");
        let rows: Vec<Vec<String>> = (0..columns[0].len())
            .map(|line| {
                let (name, _, meaning) = columns[0][line];
                let numbers = columns.iter().map(|column| column[line].1.to_string());
                let cells = std::iter::once(name.to_owned()).chain(numbers);
                cells.chain([meaning.to_owned()]).collect()
            })
            .collect();
        let mut text =
            format!("deployment {} from {} to {}\n", printable(&self.deployment), self.since, self.until);
        text.push_str(&table(&heading, &rows));
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
