//! Where two books differ. Pure: who reads them, and what is done about it, is decided elsewhere.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::books::{Entry, Kind, Moved, Row};

/// What the comparison says about one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict<'b> {
    /// Both say the same about the money.
    Matched,
    /// Both say that it is not known yet, or ours are just being written.
    Pending,
    /// Somebody else's.
    Foreign,
    /// Unknown here, and so new that it need not be known yet.
    Young,
    /// The processor moved money under our name, and nothing here asked for it.
    MissingHere {
        entry: &'b Entry,
        /// What of it is not given back.
        left: i64,
    },
    /// Our books say that money moved, and the processor's do not.
    MissingThere(&'b Row),
    /// Both say that money moved, but not the same amount.
    AmountDiffers(&'b Row, &'b Entry),
    /// The processor says that money moved, and our books deny it.
    Denied(&'b Row),
    /// One of the two knows more than the other: asking settles it.
    Unsettled(&'b Row),
}

/// Everything that was read. The entries were read before the rows.
pub(super) struct Books<'b> {
    pub(super) entries: &'b [Entry],
    pub(super) rows: &'b [Row],
    /// What was made after this need not be known here yet.
    pub(super) young_since: DateTime<Utc>,
}

/// One verdict for each object that stands in either of the books.
pub(super) fn compare<'b>(books: &Books<'b>) -> Vec<(Kind, Verdict<'b>)> {
    let known = Known::of(books.rows);
    let orphans = orphans(books.entries, &known);
    let mut listed = HashSet::new();
    let mut verdicts = Vec::with_capacity(books.entries.len());
    for entry in books.entries {
        let verdict = match known.row_of(entry) {
            Some(row) => {
                listed.insert(row.id);
                both(row, entry)
            }
            None => alone(entry, &known, &orphans, books.young_since),
        };
        verdicts.push((entry.kind, verdict));
    }
    for row in books.rows.iter().filter(|row| !listed.contains(&row.id)) {
        let verdict = match row.moved {
            Moved::Yes if row.must_be_listed => Verdict::MissingThere(row),
            Moved::Open if row.under_way => Verdict::Pending,
            Moved::Open => Verdict::Unsettled(row),
            Moved::Yes | Moved::No => continue,
        };
        verdicts.push((row.kind, verdict));
    }
    verdicts
}

/// Our rows by what an entry may name.
struct Known<'b> {
    by_id: HashMap<(Kind, Uuid), &'b Row>,
    by_object: HashMap<(Kind, &'b str), &'b Row>,
}

impl<'b> Known<'b> {
    fn of(rows: &'b [Row]) -> Self {
        let by_object = rows.iter().filter_map(|row| Some(((row.kind, row.object.as_deref()?), row)));
        Self {
            by_id: rows.iter().map(|row| ((row.kind, row.id), row)).collect(),
            by_object: by_object.collect(),
        }
    }

    /// The row that the entry carries out. One of another object than ours, with money, is none of it: it came on top.
    fn row_of(&self, entry: &Entry) -> Option<&'b Row> {
        let row = match entry.reference.and_then(|reference| self.by_id.get(&(entry.kind, reference))) {
            Some(row) => row,
            None => self.by_object.get(&(entry.kind, entry.id.as_str()))?,
        };
        let is_another = row.object.as_ref().is_some_and(|object| *object != entry.id);
        (!is_another || entry.moved == Moved::No).then_some(*row)
    }

    fn is_refund_of_ours(&self, entry: &Entry) -> bool {
        let parent = entry.parent.as_deref().filter(|_| entry.kind == Kind::Refund);
        parent.is_some_and(|parent| self.by_object.contains_key(&(Kind::Charge, parent)))
    }
}

/// What of each charge that nobody here asked for is not given back.
fn orphans<'b>(entries: &'b [Entry], known: &Known<'_>) -> HashMap<&'b str, i64> {
    let is_orphan =
        |entry: &&Entry| entry.kind == Kind::Charge && entry.is_marked && known.row_of(entry).is_none();
    let mut left: HashMap<&str, i64> =
        entries.iter().filter(is_orphan).map(|entry| (entry.id.as_str(), entry.amount)).collect();
    for refund in entries.iter().filter(|entry| entry.moved != Moved::No) {
        if let Some(left) = refund.parent.as_deref().and_then(|parent| left.get_mut(parent)) {
            *left -= refund.amount;
        }
    }
    left
}

/// Both books have it.
fn both<'b>(row: &'b Row, entry: &'b Entry) -> Verdict<'b> {
    let is_another = row.object.as_ref().is_some_and(|object| *object != entry.id);
    match (row.moved, entry.moved) {
        // An attempt that took nothing, beside the one that counts.
        (_, Moved::No) if is_another => Verdict::Matched,
        (Moved::Yes, Moved::Yes) if (row.amount, &row.currency) != (entry.amount, &entry.currency) => {
            Verdict::AmountDiffers(row, entry)
        }
        (Moved::Yes, Moved::Yes) | (Moved::No, Moved::No) => Verdict::Matched,
        _ if row.under_way => Verdict::Pending,
        (Moved::Open, Moved::Open) => Verdict::Pending,
        (Moved::No, Moved::Yes) => Verdict::Denied(row),
        // A refund that succeeded may fail later; a capture may not.
        (Moved::Yes, Moved::No) if row.kind == Kind::Charge => Verdict::MissingThere(row),
        (Moved::Yes, Moved::No | Moved::Open)
        | (Moved::No, Moved::Open)
        | (Moved::Open, Moved::Yes | Moved::No) => Verdict::Unsettled(row),
    }
}

/// The processor alone has it.
fn alone<'b>(
    entry: &'b Entry,
    known: &Known<'_>,
    orphans: &HashMap<&str, i64>,
    young_since: DateTime<Utc>,
) -> Verdict<'b> {
    let of_orphan = entry.parent.as_deref().is_some_and(|parent| orphans.contains_key(parent));
    let is_ours = entry.is_marked || known.is_refund_of_ours(entry);
    let left = orphans.get(entry.id.as_str()).copied().unwrap_or(entry.amount);
    let is_young = entry.created.is_none_or(|created| created > young_since);
    match entry.moved {
        // It is counted with the charge that it gives back.
        _ if of_orphan => Verdict::Matched,
        _ if !is_ours => Verdict::Foreign,
        Moved::No => Verdict::Matched,
        Moved::Yes if left <= 0 => Verdict::Matched,
        Moved::Yes if !is_young => Verdict::MissingHere { entry, left },
        Moved::Yes | Moved::Open => Verdict::Young,
    }
}
