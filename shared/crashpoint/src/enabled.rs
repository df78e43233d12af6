//! Crash points as they are built for tests and the demo.
//!
//! The crate `fail` would not make this smaller. None of its actions ends the process, and a fail point with a misspelled name is
//! silently never reached, so the names, the hits and the kill would still be here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};

/// The names of all crash points; the README lists their places.
pub const NAMES: &[&str] = &[
    "execute.key_claimed",
    "execute.command_done",
    "execute.before_commit",
    "execute.after_commit",
    "fence.before_commit",
    "fence.after_commit",
    "relay.page_read",
    "relay.message_sent",
    "relay.before_checkpoint",
    "relay.after_checkpoint",
    "consume.batch_received",
    "consume.aggregates_locked",
    "consume.before_commit",
    "consume.after_commit",
    "consume.batch_done",
    "consume.partitions_revoked",
    "charge.attempt_committed",
    "charge.request_sent",
    "charge.response_read",
    "charge.outcome_recorded",
    "refund.attempt_committed",
    "refund.request_sent",
    "refund.outcome_recorded",
    "webhook.event_verified",
    "webhook.before_commit",
    "webhook.after_commit",
    "expire.order_picked",
    "shutdown.draining",
];

/// The prefix of each name in the program's bytes. A search for it shows whether a program has crash points.
const MARK: &str = "idem-crash-point:";

static PLAN: OnceLock<Option<Plan>> = OnceLock::new();
static HITS: AtomicU64 = AtomicU64::new(0);

/// Reports whether a crash point has this name.
pub const fn is_known(name: &str) -> bool {
    let mut at = 0;
    while at < NAMES.len() {
        if equal(NAMES[at].as_bytes(), name.as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

const fn equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    one.len() == other.len()
}

/// Ends the process if `IDEM_CRASH` names this crash point and this is the requested hit. Called by [`reach!`](crate::reach).
pub fn reached(marked: &str) {
    let Some(plan) = PLAN.get_or_init(Plan::from_environment) else { return };
    if marked.strip_prefix(MARK) == Some(plan.name.as_str())
        && HITS.fetch_add(1, Ordering::SeqCst) + 1 == plan.hit
    {
        // SIGKILL, not exit or panic, so that no destructor or flush runs. On an error the process parks below.
        let _ = kill_process(getpid(), Signal::KILL);
        loop {
            std::thread::park();
        }
    }
}

/// The crash point and the hit at which the process ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    name: String,
    hit: u64,
}

impl Plan {
    /// An unusable value counts as none here, because [`check`](crate::check) has refused it at the start.
    fn from_environment() -> Option<Self> {
        std::env::var("IDEM_CRASH").ok().and_then(|text| Self::read(&text).ok())
    }

    /// `execute.after_commit`, or `execute.after_commit:3` for the third time.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let (name, hit) = text.split_once(':').unwrap_or((text, "1"));
        let hit = hit.parse().ok().filter(|hit| *hit > 0);
        match (is_known(name), hit) {
            (true, Some(hit)) => Ok(Self { name: name.to_owned(), hit }),
            _ => Err(format!(
                "IDEM_CRASH is '{text}', but it must be one of {}, optionally followed by a colon and the number \
                 of the hit, from 1",
                NAMES.join(" ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_point_is_named_with_its_hit_or_without() {
        assert_eq!(
            Plan::read("execute.after_commit"),
            Ok(Plan { name: "execute.after_commit".to_owned(), hit: 1 })
        );
        assert_eq!(
            Plan::read("relay.message_sent:3"),
            Ok(Plan { name: "relay.message_sent".to_owned(), hit: 3 })
        );
    }

    #[test]
    fn an_unknown_crash_point_is_refused_with_the_list() {
        for text in [
            "execute.after",
            "execute",
            "execute.after_commit2",
            "EXECUTE.AFTER_COMMIT",
            "execute.after_commit:",
            "execute.after_commit:0",
            "execute.after_commit:x",
            "execute.after_commit:1:1",
            ":1",
        ] {
            let refused = Plan::read(text).expect_err(text);
            assert!(refused.contains(text) && refused.contains(&NAMES.join(" ")), "{refused}");
        }
    }
}
