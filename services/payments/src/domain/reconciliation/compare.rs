//! Compares our records with the processor's and returns one verdict for each object.
//!
//! The caller reads the records and acts on the verdicts.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{CallKind, MoneyState, OurRecord, ProcessorRecord};

/// The result of comparing one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict<'r> {
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
        record: &'r ProcessorRecord,
        /// The amount that is not refunded yet.
        left: i64,
    },
    /// Our record says that money moved, and the processor's does not.
    MissingThere(&'r OurRecord),
    /// Both records say that money moved, but they name different amounts.
    AmountDiffers(&'r OurRecord, &'r ProcessorRecord),
    /// The processor's record says that money moved, and ours denies it.
    Denied(&'r OurRecord),
    /// One record is ahead of the other. A lookup settles the difference.
    Unsettled(&'r OurRecord),
}

/// The records to compare. The caller must read the processor's records before ours.
pub(crate) struct Records<'r> {
    pub(crate) theirs: &'r [ProcessorRecord],
    pub(crate) ours: &'r [OurRecord],
    /// Objects that were created after this time may be unknown here.
    pub(crate) young_since: DateTime<Utc>,
}

/// Returns one verdict for each object in either set of records.
pub(crate) fn compare_records<'r>(records: &Records<'r>) -> Vec<(CallKind, Verdict<'r>)> {
    let index = RecordIndex::of(records.ours);
    let orphans = orphans(records.theirs, &index);
    let mut listed = HashSet::new();
    let mut verdicts = Vec::with_capacity(records.theirs.len());
    for theirs in records.theirs {
        let verdict = match index.find(theirs) {
            Some(ours) => {
                listed.insert(ours.id);
                compare_pair(ours, theirs)
            }
            None => compare_unknown(theirs, &index, &orphans, records.young_since),
        };
        verdicts.push((theirs.kind, verdict));
    }
    for ours in records.ours.iter().filter(|ours| !listed.contains(&ours.id)) {
        let verdict = match ours.money {
            MoneyState::Moved if ours.must_be_listed => Verdict::MissingThere(ours),
            MoneyState::Open if ours.in_flight => Verdict::Pending,
            MoneyState::Open => Verdict::Unsettled(ours),
            MoneyState::Moved | MoneyState::NotMoved => continue,
        };
        verdicts.push((ours.kind, verdict));
    }
    verdicts
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

/// Returns the amount of each orphaned charge that is not refunded yet, by the processor's id.
fn orphans<'r>(theirs: &'r [ProcessorRecord], index: &RecordIndex<'_>) -> HashMap<&'r str, i64> {
    let is_orphan = |record: &&ProcessorRecord| {
        record.kind == CallKind::Charge && record.is_tagged && index.find(record).is_none()
    };
    let mut left: HashMap<&str, i64> =
        theirs.iter().filter(is_orphan).map(|record| (record.id.as_str(), record.amount)).collect();
    for refund in theirs.iter().filter(|record| record.money != MoneyState::NotMoved) {
        if let Some(left) = refund.payment_intent.as_deref().and_then(|charge| left.get_mut(charge)) {
            *left -= refund.amount;
        }
    }
    left
}

/// Compares an object that both sides have.
fn compare_pair<'r>(ours: &'r OurRecord, theirs: &'r ProcessorRecord) -> Verdict<'r> {
    use MoneyState as M;
    match (ours.money, theirs.money) {
        // An attempt without effect, beside the attempt that counts.
        (_, M::NotMoved) if is_other_object(ours, theirs) => Verdict::Matched,
        (M::Moved, M::Moved) if (ours.amount, &ours.currency) != (theirs.amount, &theirs.currency) => {
            Verdict::AmountDiffers(ours, theirs)
        }
        (M::Moved, M::Moved) | (M::NotMoved, M::NotMoved) => Verdict::Matched,
        _ if ours.in_flight => Verdict::Pending,
        (M::Open, M::Open) => Verdict::Pending,
        (M::NotMoved, M::Moved) => Verdict::Denied(ours),
        // A refund that succeeded may fail later. A capture may not.
        (M::Moved, M::NotMoved) if ours.kind == CallKind::Charge => Verdict::MissingThere(ours),
        (M::Moved, M::NotMoved | M::Open) | (M::NotMoved, M::Open) | (M::Open, M::Moved | M::NotMoved) => {
            Verdict::Unsettled(ours)
        }
    }
}

/// Judges an object that only the processor has.
fn compare_unknown<'r>(
    theirs: &'r ProcessorRecord,
    index: &RecordIndex<'_>,
    orphans: &HashMap<&str, i64>,
    young_since: DateTime<Utc>,
) -> Verdict<'r> {
    let refunds_orphan = theirs.payment_intent.as_deref().is_some_and(|charge| orphans.contains_key(charge));
    let is_ours = theirs.is_tagged || index.is_refund_of_ours(theirs);
    let left = orphans.get(theirs.id.as_str()).copied().unwrap_or(theirs.amount);
    let is_young = theirs.created.is_none_or(|created| created > young_since);
    match theirs.money {
        // The verdict about the charge covers its refunds.
        _ if refunds_orphan => Verdict::Matched,
        _ if !is_ours => Verdict::Foreign,
        MoneyState::NotMoved => Verdict::Matched,
        MoneyState::Moved if left <= 0 => Verdict::Matched,
        MoneyState::Moved if !is_young => Verdict::MissingHere { record: theirs, left },
        MoneyState::Moved | MoneyState::Open => Verdict::Young,
    }
}
