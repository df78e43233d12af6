//! Our books against the processor's: what differs is settled by asking, or put before people.
//!
//! The processor's are read first. An intent is committed before anything is sent for it, so whatever they list of ours
//! stands in our books by the time that these are read: no good charge looks like one that nobody asked for.

pub(crate) mod books;
mod command;
mod compare;
mod gather;
mod job;
mod report;
mod round;
#[cfg(test)]
mod tests;

use std::time::Duration;

use chrono::TimeDelta;
use runtime::Fields;

pub(crate) use command::Reconcile;
pub(crate) use job::job;

/// How the books are compared.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Between two rounds of the job; `None`: only people compare.
    pub every: Option<Duration>,
    /// What is as new as this need not be in both books yet.
    pub grace: Duration,
    /// How far back a round looks.
    pub look_back: Duration,
    /// An orphan of so many minor units at most is given back without asking people; 0: none.
    pub refund_orphans_up_to: i64,
    /// How many of them in one round.
    pub refund_orphans_at_most: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            every: None,
            grace: Duration::from_mins(15),
            look_back: Duration::from_hours(48),
            refund_orphans_up_to: 0,
            refund_orphans_at_most: 10,
        }
    }
}

impl Rules {
    fn grace(&self) -> TimeDelta {
        TimeDelta::from_std(self.grace).unwrap_or(TimeDelta::MAX)
    }

    fn look_back(&self) -> TimeDelta {
        TimeDelta::from_std(self.look_back).unwrap_or(TimeDelta::MAX)
    }

    /// The section `[reconcile]`.
    pub(crate) fn read(fields: &mut Fields) -> Self {
        let every = fields.seconds("reconcile.every_seconds", 0..=604_800);
        let (grace, look_back) = (
            fields.seconds("reconcile.grace_seconds", 1..=86_400),
            fields.seconds("reconcile.look_back_seconds", 60..=7_776_000),
        );
        if grace >= look_back {
            fields.refuse("reconcile.grace_seconds", "less than reconcile.look_back_seconds");
        }
        Self {
            every: (!every.is_zero()).then_some(every),
            grace,
            look_back,
            refund_orphans_up_to: fields.number("reconcile.refund_orphans_up_to", 0..=1_000_000_000_000),
            refund_orphans_at_most: fields.number("reconcile.refund_orphans_at_most", 1..=1_000),
        }
    }
}
