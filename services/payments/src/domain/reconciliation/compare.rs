//! Compares our records with the processor's and returns one verdict for each object.
//!
//! The caller reads the records page by page and acts on the verdicts. A comparison keeps only what has no counterpart yet, so
//! its memory does not depend on the number of objects that agree.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{CallKind, MoneyState, OurRecord, ProcessorRecord};

/// The result of comparing one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Both records agree.
    Matched,
    /// Both records are open, or a worker is just writing ours.
    Pending,
    /// The object belongs to another deployment.
    Foreign,
    /// The object is unknown here and younger than the grace period.
    Young,
    /// The processor moved money for this deployment, and no row here requested it.
    MissingHere {
        record: ProcessorRecord,
        /// The amount that is not refunded yet.
        left: i64,
    },
    /// Our record says that money moved, and the processor's does not.
    MissingThere(OurRecord),
    /// Both records say that money moved, but they name different amounts.
    AmountDiffers(OurRecord, ProcessorRecord),
    /// The processor's record says that money moved, and ours denies it.
    Denied(OurRecord),
    /// One record is ahead of the other. A lookup decides.
    Unsettled(OurRecord),
}

/// A comparison in progress. The caller first gives the charges of the whole period, then the refunds, each in the order of
/// time.
pub(crate) struct Comparison {
    /// Objects that were created after this time may be unknown here.
    young_since: DateTime<Utc>,
    /// Listed records of the period that [`Self::sent`] has not given yet.
    listed: HashSet<Uuid>,
    /// Our records that no object has matched yet, and that need a verdict if none will.
    unlisted: HashMap<Uuid, OurRecord>,
    /// Charges that are tagged as ours and unknown here, with the amount that is not refunded yet, by the processor's id.
    orphans: BTreeMap<String, (ProcessorRecord, i64)>,
}

impl Comparison {
    pub(crate) fn new(young_since: DateTime<Utc>) -> Self {
        let (listed, unlisted, orphans) = (HashSet::new(), HashMap::new(), BTreeMap::new());
        Self { young_since, listed, unlisted, orphans }
    }

    /// Compares a page of the processor's list. `ours` has every record that the page refers to, and was read after it.
    pub(crate) fn listed(
        &mut self,
        theirs: Vec<ProcessorRecord>,
        ours: &[OurRecord],
    ) -> Vec<(CallKind, Verdict)> {
        let index = RecordIndex::of(ours);
        let mut verdicts = Vec::with_capacity(theirs.len());
        for theirs in theirs {
            let kind = theirs.kind;
            if let Some(ours) = index.find(&theirs) {
                if self.unlisted.remove(&ours.id).is_none() && ours.is_of_period {
                    self.listed.insert(ours.id);
                }
                verdicts.push((kind, compare_pair(ours, &theirs)));
                continue;
            }
            if kind == CallKind::Charge && theirs.is_tagged {
                self.orphans.insert(theirs.id.clone(), (theirs.clone(), theirs.amount));
                continue;
            }
            let orphan = theirs.payment_intent.as_deref().and_then(|charge| self.orphans.get_mut(charge));
            let verdict = match orphan {
                // The verdict about the charge covers its refunds.
                Some((_, left)) => {
                    *left -= if theirs.money == MoneyState::NotMoved { 0 } else { theirs.amount };
                    Verdict::Matched
                }
                None if !theirs.is_tagged && !index.is_refund_of_ours(&theirs) => Verdict::Foreign,
                None => {
                    let left = theirs.amount;
                    compare_unknown(theirs, left, self.young_since)
                }
            };
            verdicts.push((kind, verdict));
        }
        verdicts
    }

    /// Takes our records whose request was sent within the period.
    pub(crate) fn sent(&mut self, ours: Vec<OurRecord>) {
        for ours in ours {
            let needs_verdict = match ours.money {
                MoneyState::Moved => ours.must_be_listed,
                MoneyState::Open => true,
                MoneyState::NotMoved => false,
            };
            if !self.listed.remove(&ours.id) && needs_verdict {
                self.unlisted.insert(ours.id, ours);
            }
        }
    }

    /// Returns whether every record and object has found its counterpart.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.unlisted.is_empty() && self.orphans.is_empty()
    }

    /// Returns the verdicts about the records and objects without a counterpart.
    pub(crate) fn conclude(self) -> Vec<(CallKind, Verdict)> {
        let orphan = |(record, left): (ProcessorRecord, i64)| {
            (record.kind, compare_unknown(record, left, self.young_since))
        };
        let unlisted = |ours: OurRecord| match ours.money {
            MoneyState::Open if ours.in_flight => (ours.kind, Verdict::Pending),
            MoneyState::Open => (ours.kind, Verdict::Unsettled(ours)),
            MoneyState::Moved | MoneyState::NotMoved => (ours.kind, Verdict::MissingThere(ours)),
        };
        let orphans = self.orphans.into_values().map(orphan);
        orphans.chain(self.unlisted.into_values().map(unlisted)).collect()
    }
}

/// Our records, by our id and by the processor's.
struct RecordIndex<'r> {
    by_id: HashMap<(CallKind, Uuid), &'r OurRecord>,
    by_object: HashMap<(CallKind, &'r str), &'r OurRecord>,
}

impl<'r> RecordIndex<'r> {
    fn of(ours: &'r [OurRecord]) -> Self {
        let by_object = ours.iter().filter_map(|ours| Some(((ours.kind, ours.object.as_deref()?), ours)));
        Self {
            by_id: ours.iter().map(|ours| ((ours.kind, ours.id), ours)).collect(),
            by_object: by_object.collect(),
        }
    }

    /// Finds our record of an object. A second object that moved money for the same id does not belong to our record:
    /// it is an orphan.
    fn find(&self, theirs: &ProcessorRecord) -> Option<&'r OurRecord> {
        let ours = match theirs.reference.and_then(|id| self.by_id.get(&(theirs.kind, id))) {
            Some(ours) => ours,
            None => self.by_object.get(&(theirs.kind, theirs.id.as_str()))?,
        };
        (!is_other_object(ours, theirs) || theirs.money == MoneyState::NotMoved).then_some(*ours)
    }

    fn is_refund_of_ours(&self, theirs: &ProcessorRecord) -> bool {
        let charge = theirs.payment_intent.as_deref().filter(|_| theirs.kind == CallKind::Refund);
        charge.is_some_and(|charge| self.by_object.contains_key(&(CallKind::Charge, charge)))
    }
}

fn is_other_object(ours: &OurRecord, theirs: &ProcessorRecord) -> bool {
    ours.object.as_ref().is_some_and(|object| *object != theirs.id)
}

/// Compares an object that both sides have.
fn compare_pair(ours: &OurRecord, theirs: &ProcessorRecord) -> Verdict {
    use MoneyState as M;
    match (ours.money, theirs.money) {
        // An attempt without effect, beside the attempt that counts.
        (_, M::NotMoved) if is_other_object(ours, theirs) => Verdict::Matched,
        (M::Moved, M::Moved) if (ours.amount, &ours.currency) != (theirs.amount, &theirs.currency) => {
            Verdict::AmountDiffers(ours.clone(), theirs.clone())
        }
        (M::Moved, M::Moved) | (M::NotMoved, M::NotMoved) => Verdict::Matched,
        _ if ours.in_flight => Verdict::Pending,
        (M::Open, M::Open) => Verdict::Pending,
        (M::NotMoved, M::Moved) => Verdict::Denied(ours.clone()),
        // A refund that succeeded may fail later. A capture may not.
        (M::Moved, M::NotMoved) if ours.kind == CallKind::Charge => Verdict::MissingThere(ours.clone()),
        (M::Moved, M::NotMoved | M::Open) | (M::NotMoved, M::Open) | (M::Open, M::Moved | M::NotMoved) => {
            Verdict::Unsettled(ours.clone())
        }
    }
}

/// Judges an object of ours that only the processor has.
fn compare_unknown(theirs: ProcessorRecord, left: i64, young_since: DateTime<Utc>) -> Verdict {
    let is_young = theirs.created.is_none_or(|created| created > young_since);
    match theirs.money {
        MoneyState::NotMoved => Verdict::Matched,
        MoneyState::Moved if left <= 0 => Verdict::Matched,
        MoneyState::Moved if !is_young => Verdict::MissingHere { record: theirs, left },
        MoneyState::Moved | MoneyState::Open => Verdict::Young,
    }
}
