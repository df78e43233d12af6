//! The members of one object: a name only once, and in the order of RFC 8785. A tree keeps both in n log n, so that
//! an object of many members costs no more than its length.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// Each member's place in the output: `"name":value,`.
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

/// Puts the members, which fill `out` from `start` on, in their order. Most clients send them sorted the same way
/// each time, and many in this very order: then nothing moves.
pub(super) fn sort(members: &Members<'_>, start: usize, out: &mut Vec<u8>) {
    if members.values().is_sorted_by_key(|place| place.start) {
        return;
    }
    let written = out.split_off(start);
    for place in members.values() {
        out.extend_from_slice(&written[place.start - start..place.end - start]);
    }
}
