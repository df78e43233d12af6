//! The gauges of the process: build, uptime, readiness, and the servers that it needs.

use std::time::Duration;

use metrics::{Readings, Sample};

use crate::health::Report;
use crate::telemetry;

/// Adds the gauges of a process with this health.
pub(super) fn add(readings: &mut Readings, service: &str, report: Report, uptime: Duration) {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut build = Sample::labelled("service", service, 1_i64);
    build.labels.push(("version", version));
    readings.add_all("idem_build_info", "The program that runs here", [build]);
    readings.add(
        "idem_uptime_seconds",
        "Time since the process began to listen",
        i64::try_from(uptime.as_secs()).unwrap_or(i64::MAX),
    );
    readings.add_counter(
        "idem_log_dropped_lines",
        "Lines of the log that were dropped, because too many others waited for its reader",
        telemetry::dropped_lines(),
    );
    readings.add("idem_ready", "Whether requests should be sent here", report.is_ready());
    let dependencies = [
        ("database", report.database),
        ("broker", report.broker),
        ("keys", report.keys),
        ("deployment", report.deployment),
    ];
    readings.add_all(
        "idem_dependency_up",
        "Whether what this process needs can be used",
        dependencies.map(|(name, state)| Sample::labelled("dependency", name, state == "ok")),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_that_is_away_reads_as_zero() {
        let report = Report {
            status: "unavailable",
            database: "away",
            broker: "ok",
            keys: "ok",
            deployment: "not adopted",
        };
        let mut readings = Readings::default();
        add(&mut readings, "orders", report, Duration::from_secs(7));
        let text = metrics::write([readings.registry()]);
        for line in [
            "idem_ready 0",
            "idem_log_dropped_lines_total 0",
            "idem_uptime_seconds 7",
            "idem_dependency_up{dependency=\"database\"} 0",
            "idem_dependency_up{dependency=\"broker\"} 1",
            "idem_dependency_up{dependency=\"keys\"} 1",
            "idem_dependency_up{dependency=\"deployment\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in {text}");
        }
    }
}
