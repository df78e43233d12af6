//! The job `audit`: asks all questions again and again, counts the violations, and logs the first of each question.

use std::time::Duration;

use audits::Question;
use database::{Database, Result};
use tokio_util::sync::CancellationToken;

use super::{AuditMetrics, ask};
use crate::{HousekeepingJob, Service};

/// Violations of one question that the log shows. The command `audit` lists all of them.
const LOGGED: usize = 5;

pub(crate) fn job<S: Service>(pause: Duration) -> HousekeepingJob {
    HousekeepingJob::every("audit", pause, |database, stop| async move {
        ask_all(&database, audits::of_service(S::NAME), &stop).await
    })
}

/// Asks all questions, also after one that failed. Returns the number of violations, or the first error.
async fn ask_all(
    database: &Database,
    questions: impl Iterator<Item = Question>,
    stop: &CancellationToken,
) -> Result<u64> {
    let (mut sum, mut failed) = (0, None);
    for question in questions {
        let Some(result) = stop.run_until_cancelled(ask(database, question)).await else { break };
        match result {
            Ok(violations) => sum += report(database, question, &violations),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(sum), Err)
}

fn report(database: &Database, question: Question, violations: &[String]) -> u64 {
    let (invariant, number) = (question.invariant(), u64::try_from(violations.len()).unwrap_or(u64::MAX));
    database.metrics::<AuditMetrics>().count(invariant, number);
    for violation in violations.iter().take(LOGGED) {
        tracing::error!(invariant, violations = number, violation, "InvariantViolated");
    }
    number
}
