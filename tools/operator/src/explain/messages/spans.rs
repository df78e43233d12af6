//! Spans of time in which events were written.
//!
//! An event is written just before the COMMIT of the transaction that wrote the rows which it announces. Therefore it is at most a
//! transaction's life later than one of these rows.

use chrono::{DateTime, TimeDelta, Utc};

/// Clocks of sessions and the order of ids may differ by so much.
const BEFORE: TimeDelta = TimeDelta::seconds(1);

/// Longer than a transaction of a service takes.
const AFTER: TimeDelta = TimeDelta::seconds(5);

/// Returns the beginnings and the ends of spans around these times. No two spans overlap.
pub(super) fn around(mut times: Vec<DateTime<Utc>>) -> (Vec<DateTime<Utc>>, Vec<DateTime<Utc>>) {
    times.sort_unstable();
    let (mut from, mut until): (Vec<DateTime<Utc>>, Vec<DateTime<Utc>>) = (Vec::new(), Vec::new());
    for time in times {
        match until.last_mut() {
            Some(end) if time - BEFORE <= *end => *end = time + AFTER,
            _ => {
                from.push(time - BEFORE);
                until.push(time + AFTER);
            }
        }
    }
    (from, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_become_one() {
        let at = |seconds: i64| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
        let (from, until) = around(vec![at(100), at(10), at(15), at(106)]);
        assert_eq!((from, until), (vec![at(9), at(99)], vec![at(20), at(111)]));
        assert_eq!(around(Vec::new()), (vec![], vec![]));
    }
}
