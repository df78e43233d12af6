//! `Membership`: notices a client that hangs outside its group.
//!
//! After a lost session, the client joins its group again by itself. librdkafka 2.12 was seen to hang there for good, although the
//! broker answered: the consumer then reads nothing, and no error says so.
//!
//! The process ends then, and is started again. Another client in the same process is no way out: librdkafka 2.12 was seen to crash
//! (in `rd_kafka_cgrp_handle_LeaveGroup`) when such a client, which knows its coordinator, was closed.

use std::time::{Duration, Instant};

/// Longer than any rebalance: each of its two rounds waits `max.poll.interval.ms` (6 s) for the slowest member.
const LIMIT: Duration = Duration::from_mins(1);

/// The time outside the group, from the client's reports.
#[derive(Debug, Default)]
pub(super) struct Membership {
    outside_since: Option<Instant>,
}

impl Membership {
    /// Reads a report. Returns true if the client is outside its group for longer than [`LIMIT`], although it can reach
    /// the group's coordinator. A member without partitions is inside.
    pub(super) fn is_lost(&mut self, state: &str, join_state: &str, now: Instant) -> bool {
        if state != "up" || join_state == "steady" {
            self.outside_since = None;
            return false;
        }
        now.duration_since(*self.outside_since.get_or_insert(now)) > LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reports every second; returns the second of the first report that says "lost".
    fn lost_after(reports: impl Iterator<Item = (&'static str, &'static str)>) -> Option<usize> {
        let (mut membership, start) = (Membership::default(), Instant::now());
        let is_lost = |(second, (state, join_state)): (u64, _)| {
            membership.is_lost(state, join_state, start + Duration::from_secs(second))
        };
        (0..).zip(reports).map(is_lost).position(|is_lost| is_lost)
    }

    #[test]
    fn a_client_that_hangs_outside_its_group_is_lost_and_no_other() {
        let hanging = || std::iter::repeat_n(("up", "wait-unassign-to-complete"), 200);
        let inside = || std::iter::repeat_n(("up", "steady"), 600);
        assert_eq!(lost_after(inside().chain(hanging())), Some(600 + 61));
        assert_eq!(lost_after(inside()), None);
        // The broker is away: the client cannot join.
        assert_eq!(lost_after(std::iter::repeat_n(("query-coord", "init"), 600)), None);
        // The longest rebalances, one after the other.
        let longest = || std::iter::repeat_n(("up", "wait-join"), 20).chain([("up", "steady")]);
        assert_eq!(lost_after((0..10).flat_map(|_| longest())), None);
    }
}
