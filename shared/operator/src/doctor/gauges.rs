//! The promises in the database: the gauges of a scrape, judged by the limits of deploy/prometheus/alerts.yml.

use metrics::{Readings, Sample};

use super::Finding;

/// How a gauge is judged.
struct Judgment {
    gauge: &'static str,
    /// The samples that are judged: all, or those with this value of a label.
    of: Option<&'static str>,
    limit: Limit,
    /// The name in the report.
    subject: &'static str,
    cure: &'static str,
    /// The alert with the same limit.
    alert: &'static str,
}

/// The values that are a fault.
#[derive(Clone, Copy)]
enum Limit {
    Zero,
    Above(f64),
}

const JUDGMENTS: [Judgment; 8] = [
    Judgment {
        gauge: "outbox_lease_remaining_seconds",
        of: None,
        limit: Limit::Zero,
        subject: "relay",
        cure: "start an instance with relay.in_process = true, or `relay` beside it",
        alert: "RelayMissing",
    },
    Judgment {
        gauge: "outbox_oldest_unpublished_seconds",
        of: None,
        limit: Limit::Above(60.0),
        subject: "unpublished events",
        cure: "look at `outbox status` and at the relay's log; `relay step-down` gives the lease to another one",
        alert: "EventsLate",
    },
    Judgment {
        gauge: "outbox_blocked_events",
        of: None,
        limit: Limit::Above(0.0),
        subject: "blocked events",
        cure: "remove the cause that `outbox status` names, then run `outbox release`",
        alert: "EventsBlocked",
    },
    Judgment {
        gauge: "inbox_waiting_messages",
        of: Some("parked"),
        limit: Limit::Above(0.0),
        subject: "parked messages",
        cure: "look at `inbox parked`; remove the cause, then run `inbox redrive`",
        alert: "MessageParked",
    },
    Judgment {
        gauge: "inbox_oldest_held_seconds",
        of: None,
        limit: Limit::Above(300.0),
        subject: "held messages",
        cure: "look at `inbox parked`; their sender publishes the missing ones by `outbox republish --aggregate`",
        alert: "RecordsMissing",
    },
    Judgment {
        gauge: "database_oldest_transaction_seconds",
        of: None,
        limit: Limit::Above(60.0),
        subject: "oldest transaction",
        cure: "find it in pg_stat_activity, and end it by pg_terminate_backend; if it was not read, GRANT pg_read_all_stats TO the owner of the database",
        alert: "OldTransaction",
    },
    Judgment {
        gauge: "job_since_success_seconds",
        of: None,
        limit: Limit::Above(3.0 * 3600.0),
        subject: "jobs",
        cure: "read last_error in job_lease; a job that died is taken by the next instance",
        alert: "JobLate",
    },
    Judgment {
        gauge: "job_failing",
        of: None,
        limit: Limit::Above(0.0),
        subject: "failing jobs",
        cure: "read last_error in job_lease; the job runs again after a minute",
        alert: "JobLate",
    },
];

pub(super) fn examine(readings: &Readings) -> Vec<Finding> {
    JUDGMENTS.iter().map(|judgment| judgment.judge(readings)).collect()
}

impl Judgment {
    fn judge(&self, readings: &Readings) -> Finding {
        let samples: Vec<&Sample> =
            readings.samples(self.gauge).filter(|sample| self.concerns(sample)).collect();
        let Self { gauge, subject, .. } = self;
        if samples.is_empty() && !gauge.starts_with("job_") {
            return Finding::fault(*subject, format!("{gauge} was not read"), self.cure());
        }
        let wrong: Vec<String> =
            samples.iter().filter(|it| self.limit.is_broken(it)).map(|it| text(it)).collect();
        if wrong.is_empty() {
            let largest = samples.iter().map(|sample| f64::from(sample.value)).fold(0.0, f64::max);
            return Finding::ok(*subject, format!("{gauge} is {largest:.0}"));
        }
        Finding::fault(*subject, format!("{gauge} is {}", wrong.join(", ")), self.cure())
    }

    fn concerns(&self, sample: &Sample) -> bool {
        self.of.is_none_or(|of| sample.labels.iter().any(|(_, value)| value == of))
    }

    fn cure(&self) -> String {
        format!("{} (docs/alerts.md#{})", self.cure, self.alert.to_lowercase())
    }
}

impl Limit {
    fn is_broken(self, sample: &Sample) -> bool {
        let value = f64::from(sample.value);
        match self {
            Self::Zero => value <= 0.0,
            Self::Above(limit) => value > limit,
        }
    }
}

/// A sample as an operator reads it, such as `1 (outbox retention)`.
fn text(sample: &Sample) -> String {
    let value = f64::from(sample.value);
    let labels: Vec<&str> = sample.labels.iter().map(|(_, value)| value.as_str()).collect();
    if labels.is_empty() { format!("{value:.0}") } else { format!("{value:.0} ({})", labels.join(", ")) }
}
