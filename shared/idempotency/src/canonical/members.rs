//! The members of one object: unique names, in the order of RFC 8785. A tree finds duplicates and sorts in n log n.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// Each member's range in the output: `"name":value,`.
pub(super) type Members<'a> = BTreeMap<Name<'a>, Range<usize>>;

/// A member's name, unescaped.
#[derive(PartialEq, Eq)]
pub(super) struct Name<'a>(pub(super) Cow<'a, str>);

impl Ord for Name<'_> {
    /// By UTF-16 code units. That differs from the order of UTF-8 bytes: U+10000 and above come before U+E000.
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.encode_utf16().cmp(other.0.encode_utf16())
    }
}

impl PartialOrd for Name<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Sorts the members, which fill `out` from `start` on. If the document has them in order, nothing is copied.
pub(super) fn sort(members: &Members<'_>, start: usize, out: &mut Vec<u8>) {
    if members.values().is_sorted_by_key(|range| range.start) {
        return;
    }
    let written = out.split_off(start);
    for range in members.values() {
        out.extend_from_slice(&written[range.start - start..range.end - start]);
    }
}
