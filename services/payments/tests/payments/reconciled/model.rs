//! The rules of the comparison over a whole history at once, without pages, windows or tables.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;

use super::history::{GRACE, History, Kind, Object, PERIOD, Record};
use crate::listing::OURS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Money {
    Moved,
    NotMoved,
    Open,
}

impl Record {
    pub(super) fn money(&self) -> Money {
        match self.state {
            "captured" | "succeeded" => Money::Moved,
            "declined" | "cancelled" | "failed" => Money::NotMoved,
            _ => Money::Open,
        }
    }

    fn is_first_attempt_under_way(&self) -> bool {
        match self.kind {
            Kind::Charge => self.state == "capturing",
            Kind::Refund => self.in_flight && self.state == "pending",
        }
    }

    fn needs_object(&self) -> bool {
        let must = match self.money() {
            Money::Moved => !self.changes,
            Money::Open => true,
            Money::NotMoved => false,
        };
        must && self.sent.is_some_and(|age| age < PERIOD)
    }

    fn is_other(&self, object: &Object) -> bool {
        self.object.as_ref().is_some_and(|id| *id != object.id)
    }

    fn line(&self, what: &str) -> String {
        line(what, self.kind, Some(self.id), self.object.as_deref(), self.amount, "EUR")
    }
}

impl Object {
    fn money(&self) -> Money {
        match (self.kind, self.status) {
            (_, "succeeded") => Money::Moved,
            (_, "canceled")
            | (Kind::Charge, "requires_payment_method" | "requires_confirmation")
            | (Kind::Refund, "failed") => Money::NotMoved,
            _ => Money::Open,
        }
    }

    fn is_tagged(&self) -> bool {
        self.deployment == Some(OURS)
    }

    fn reference(&self) -> Option<Uuid> {
        self.reference.as_ref().filter(|_| self.is_tagged())?.parse().ok()
    }

    fn line(&self, what: &str, amount: i64) -> String {
        line(what, self.kind, self.reference(), Some(&self.id), amount, &self.currency.to_uppercase())
    }
}

fn line(
    what: &str,
    kind: Kind,
    id: Option<Uuid>,
    processor_id: Option<&str>,
    amount: i64,
    currency: &str,
) -> String {
    json!({
        "what": what, "kind": kind.name(), "id": id, "processor_id": processor_id, "amount": amount, "currency": currency,
    })
    .to_string()
}

/// The counts of a report that are not zero, and its differences.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    counts: BTreeMap<String, u64>,
    /// Sorted. A record with several objects may differ several times.
    differences: Vec<String>,
}

impl Findings {
    pub(super) fn of_report(report: &Value) -> Self {
        let mut findings = Self::default();
        for (kind, counts) in report["counts"].as_object().unwrap() {
            for (verdict, count) in counts.as_object().unwrap() {
                let count = count.as_u64().unwrap();
                if count > 0 {
                    findings.counts.insert(format!("{verdict} {kind}"), count);
                }
            }
        }
        for difference in report["differences"].as_array().unwrap() {
            findings.differences.push(difference.to_string());
        }
        findings.differences.sort();
        findings
    }

    pub(super) fn agree(&self) -> bool {
        self.differences.is_empty()
    }

    /// The names of the verdicts that were given.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = String> {
        self.counts.keys().map(|name| name.split(' ').next().unwrap().to_owned())
    }

    /// The names of the verdicts, sorted, each as often as it was given.
    pub(super) fn all_verdicts(&self) -> Vec<String> {
        let counts = self.verdicts().zip(self.counts.values());
        let mut all: Vec<String> = counts
            .flat_map(|(name, count)| std::iter::repeat_n(name, usize::try_from(*count).unwrap()))
            .collect();
        all.sort();
        all
    }

    pub(super) fn expected(history: &History) -> Self {
        let mut findings = Self::default();
        let listed = |object: &&Object| object.created < PERIOD;
        let find = |object: &Object| {
            let mut records = history.records.iter().filter(|record| record.kind == object.kind);
            let named = object.reference().and_then(|id| records.clone().find(|record| record.id == id));
            let record =
                named.or_else(|| records.find(|record| record.object.as_ref() == Some(&object.id)))?;
            (!record.is_other(object) || object.money() == Money::NotMoved).then_some(record)
        };
        let charges = || history.objects.iter().filter(|object| object.kind == Kind::Charge).filter(listed);
        let refunds = || history.objects.iter().filter(|object| object.kind == Kind::Refund).filter(listed);
        let mut with_object = BTreeSet::new();
        let mut orphans: BTreeMap<&str, (&Object, i64)> = BTreeMap::new();
        for object in charges() {
            match find(object) {
                Some(record) => {
                    with_object.insert(record.id);
                    findings.pair(record, object);
                }
                None if object.is_tagged() => {
                    orphans.insert(&object.id, (object, object.amount));
                }
                None => findings.count(Kind::Charge, "foreign"),
            }
        }
        for object in refunds() {
            let orphan = object.payment_intent.as_deref().and_then(|charge| orphans.get_mut(charge));
            match (find(object), orphan) {
                (Some(record), _) => {
                    with_object.insert(record.id);
                    findings.pair(record, object);
                }
                (None, Some((_, left))) => {
                    *left -= if object.money() == Money::NotMoved { 0 } else { object.amount };
                    findings.count(Kind::Refund, "matched");
                }
                (None, None) if object.is_tagged() || is_of_our_charge(history, object) => {
                    findings.unknown(object, object.amount);
                }
                (None, None) => findings.count(Kind::Refund, "foreign"),
            }
        }
        for (object, left) in orphans.into_values() {
            findings.unknown(object, left);
        }
        for record in &history.records {
            if record.needs_object() && !with_object.contains(&record.id) {
                findings.alone(record);
            }
        }
        findings.differences.sort();
        findings
    }

    fn count(&mut self, kind: Kind, verdict: &str) {
        *self.counts.entry(format!("{verdict} {}s", kind.name())).or_default() += 1;
    }

    fn ours(&mut self, record: &Record, verdict: &str) {
        self.count(record.kind, verdict);
        self.differences.push(record.line(verdict));
    }

    fn pair(&mut self, ours: &Record, theirs: &Object) {
        use Money::{Moved, NotMoved, Open};
        match (ours.money(), theirs.money()) {
            (_, NotMoved) if ours.is_other(theirs) => self.count(ours.kind, "matched"),
            (Moved, Moved) if (ours.amount, "eur") != (theirs.amount, theirs.currency) => {
                self.ours(ours, "amount_differs");
                self.differences.push(theirs.line("amount_differs", theirs.amount));
            }
            (Moved, Moved) | (NotMoved, NotMoved) => self.count(ours.kind, "matched"),
            _ if ours.is_first_attempt_under_way() => self.count(ours.kind, "pending"),
            (Open, Open) => self.count(ours.kind, "pending"),
            (NotMoved, Moved) => self.ours(ours, "denied"),
            (Moved, NotMoved) if ours.kind == Kind::Charge => {
                self.ours(ours, "missing_there");
            }
            (Moved, NotMoved | Open) | (NotMoved, Open) | (Open, Moved | NotMoved) => {
                self.ours(ours, "unsettled");
            }
        }
    }

    fn unknown(&mut self, theirs: &Object, left: i64) {
        match theirs.money() {
            Money::NotMoved => self.count(theirs.kind, "matched"),
            Money::Moved if left <= 0 => self.count(theirs.kind, "matched"),
            Money::Moved if theirs.created > GRACE => {
                self.count(theirs.kind, "missing_here");
                self.differences.push(theirs.line("missing_here", left));
            }
            Money::Moved | Money::Open => self.count(theirs.kind, "young"),
        }
    }

    fn alone(&mut self, ours: &Record) {
        match ours.money() {
            Money::Open if ours.is_first_attempt_under_way() => self.count(ours.kind, "pending"),
            Money::Open => self.ours(ours, "unsettled"),
            Money::Moved | Money::NotMoved => self.ours(ours, "missing_there"),
        }
    }
}

fn is_of_our_charge(history: &History, refund: &Object) -> bool {
    let intent = refund.payment_intent.as_ref();
    history.records.iter().any(|record| match record.kind {
        Kind::Charge => record.object.is_some() && record.object.as_ref() == intent,
        // Its payment was captured before the period.
        Kind::Refund => intent == Some(&record.intent()),
    })
}
