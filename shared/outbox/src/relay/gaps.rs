//! `Gaps`: ids up to the position whose rows the relay has not seen. Their transactions are open, or were rolled back. After `republish`
//! and after a release they are ids whose rows are to be read again.
//!
//! The database assigns ids before commit, so a row with a smaller id may become visible after one with a larger id. A cursor of
//! one id would skip that row.
//!
//! What goes wrong with such a cursor: a transaction draws id 7 and is slow, another one commits id 8, the relay publishes 8 and
//! remembers 8. Then 7 commits, and is never published.
//!
//! A gap ends when its row is seen. Otherwise it ends when every transaction that may hold its row has ended: a transaction draws its
//! number before its first id, so its number is below one that is drawn after the gap was found. Once every number below that one has
//! ended for the snapshot of a read, and the read has not found the row, the transaction was rolled back.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeInclusive};

/// Ranges of ids, without overlaps.
#[derive(Debug, Default)]
pub(super) struct Gaps(BTreeMap<i64, Gap>);

/// A range, by its first id.
#[derive(Debug, Clone, Copy)]
struct Gap {
    last: i64,
    /// Greater than the number of each transaction that may hold a row of the range; `None` until a number is drawn.
    next_xid: Option<i64>,
}

/// Ranges of ids as the database takes them.
pub(crate) type Ranges = Vec<(Bound<i64>, Bound<i64>)>;

/// A range that contains its bounds.
pub(super) fn range(ids: RangeInclusive<i64>) -> (Bound<i64>, Bound<i64>) {
    (Bound::Included(*ids.start()), Bound::Excluded(ids.end() + 1))
}

impl From<Ranges> for Gaps {
    fn from(ranges: Ranges) -> Self {
        let mut gaps = Self::default();
        for bounds in ranges {
            // PostgreSQL gives ranges of numbers in this form only.
            if let (Bound::Included(first), Bound::Excluded(end)) = bounds {
                gaps.add(first..=end - 1);
            }
        }
        gaps
    }
}

impl Gaps {
    /// Adds ids that were not seen, if there are any.
    pub(super) fn add(&mut self, ids: RangeInclusive<i64>) {
        if !ids.is_empty() {
            self.0.insert(*ids.start(), Gap { last: *ids.end(), next_xid: None });
        }
    }

    /// Takes an id out, because its row was seen.
    pub(super) fn remove(&mut self, id: i64) {
        let Some((&first, &gap)) = self.0.range(..=id).next_back().filter(|(_, gap)| gap.last >= id) else {
            return;
        };
        self.0.remove(&first);
        for (first, last) in [(first, id - 1), (id + 1, gap.last)] {
            if first <= last {
                self.0.insert(first, Gap { last, ..gap });
            }
        }
    }

    /// Returns whether a number must be drawn, so that the gaps can end.
    pub(super) fn need_a_number(&self) -> bool {
        self.0.values().any(|gap| gap.next_xid.is_none())
    }

    /// Notes a number that was drawn after all of these gaps were found.
    pub(super) fn note_number(&mut self, next_xid: i64) {
        self.0.values_mut().for_each(|gap| gap.next_xid = gap.next_xid.or(Some(next_xid)));
    }

    /// Ends the gaps up to this id whose transactions have all ended: the snapshot of the read that has just looked for their rows
    /// has no open transaction with a number below `xmin`. Returns whether there were any.
    pub(super) fn end(&mut self, xmin: i64, up_to: i64) -> bool {
        let before = self.0.len();
        self.0.retain(|_, gap| gap.last > up_to || gap.next_xid.is_none_or(|next_xid| next_xid > xmin));
        self.0.len() < before
    }

    pub(super) fn ranges(&self) -> Ranges {
        self.0.iter().map(|(first, gap)| range(*first..=gap.last)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(ids: &[RangeInclusive<i64>]) -> Gaps {
        let mut gaps = Gaps::default();
        ids.iter().cloned().for_each(|ids| gaps.add(ids));
        gaps
    }

    #[test]
    fn an_id_that_is_seen_leaves_the_rest_of_its_range() {
        let mut gaps = gaps(&[2..=5, 8..=8]);
        for id in [4, 8, 1, 6] {
            gaps.remove(id);
        }
        assert_eq!(gaps.ranges(), [range(2..=3), range(5..=5)]);
    }

    #[test]
    fn a_gap_ends_once_every_number_below_a_later_one_has_ended() {
        let mut gaps = gaps(&[2..=2]);
        assert!(!gaps.end(100, 9), "no number was drawn after it was found");
        gaps.note_number(100);
        gaps.add(5..=5);
        assert!(!gaps.end(99, 9), "the transaction 99 is open, and may hold it");
        assert!(!gaps.end(100, 1), "the read did not come so far");
        assert!(gaps.need_a_number());
        assert!(gaps.end(100, 9));
        assert_eq!(gaps.ranges(), [range(5..=5)]);
        gaps.note_number(110);
        assert!(gaps.end(110, 9) && !gaps.need_a_number());
    }
}
