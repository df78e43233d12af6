//! What a comparison has shown, for people and for machines.

use std::collections::BTreeMap;
use std::fmt::Write;

use runtime::table::{shown, table};
use serde::Serialize;

use super::books::Kind;

/// How often each verdict was given.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) matched: usize,
    pub(super) pending: usize,
    pub(super) young: usize,
    pub(super) foreign: usize,
    /// A person has answered for the difference.
    pub(super) accepted: usize,
    pub(super) unsettled: usize,
    pub(super) denied: usize,
    pub(super) missing_here: usize,
    pub(super) missing_there: usize,
    pub(super) amount_differs: usize,
}

impl Counts {
    /// Whether the books say the same.
    fn agree(&self) -> bool {
        self.unsettled + self.denied + self.missing_here + self.missing_there + self.amount_differs == 0
    }

    /// Name, number, and what is done about it.
    fn lines(&self) -> [(&'static str, usize, &'static str); 10] {
        [
            ("matched", self.matched, ""),
            ("pending", self.pending, "neither knows yet"),
            ("young", self.young, "too new to tell"),
            ("foreign", self.foreign, "not of this deployment"),
            ("accepted", self.accepted, "people have answered for it"),
            ("unsettled", self.unsettled, "looked up now"),
            ("denied here", self.denied, "looked up now; then in review"),
            ("missing here", self.missing_here, "in review"),
            ("missing there", self.missing_there, "in review"),
            ("different amount", self.amount_differs, "in review"),
        ]
    }
}

/// One object on which the books do not agree.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Difference {
    pub(super) what: &'static str,
    pub(super) kind: &'static str,
    /// Ours, if we have it.
    pub(super) id: Option<String>,
    /// The processor's name of it, if it has one.
    pub(super) processor_id: Option<String>,
    /// In minor units, ours before the processor's.
    pub(super) amount: i64,
    pub(super) currency: String,
}

/// A whole round.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) since: String,
    pub(super) until: String,
    pub(super) deployment: String,
    pub(super) agrees: bool,
    pub(super) counts: BTreeMap<&'static str, Counts>,
    pub(super) differences: Vec<Difference>,
    /// Orphans that were given back by this round.
    pub(super) orphans_refunded: usize,
}

impl Report {
    pub(super) fn new(since: String, until: String, deployment: &str) -> Self {
        let counts = [Kind::Charge, Kind::Refund].map(|kind| (plural(kind), Counts::default()));
        Self {
            since,
            until,
            deployment: deployment.to_owned(),
            agrees: true,
            counts: BTreeMap::from(counts),
            differences: Vec::new(),
            orphans_refunded: 0,
        }
    }

    pub(super) fn count(&mut self, kind: Kind) -> &mut Counts {
        self.counts.entry(plural(kind)).or_default()
    }

    /// Draws the conclusion.
    pub(super) fn concluded(mut self) -> Self {
        self.agrees = self.counts.values().all(Counts::agree);
        self
    }

    pub(super) fn text(&self) -> String {
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
            format!("deployment {} from {} to {}\n", shown(&self.deployment), self.since, self.until);
        text.push_str(&table(&heading, &rows));
        for difference in &self.differences {
            let Difference { what, kind, id, processor_id, amount, currency } = difference;
            let id = id.as_deref().unwrap_or("-");
            let processor_id = shown(processor_id.as_deref().unwrap_or("-"));
            let _ = writeln!(text, "{what}: {kind} {id}, there {processor_id}, {amount} {}", shown(currency));
        }
        if self.orphans_refunded > 0 {
            let _ = writeln!(text, "{} orphans given back", self.orphans_refunded);
        }
        text.push_str(if self.agrees {
            "all agrees\n"
        } else {
            "the books differ: see payments review list\n"
        });
        text
    }
}

fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Charge => "charges",
        Kind::Refund => "refunds",
    }
}
