//! The jobs that start by time, beside the worker: the scheduled reconciliation, which one instance at a time runs, and the
//! balances of the ledger. Also the housekeeping of webhook events.

pub(crate) mod delete_webhook_events;
pub(crate) mod fold_balances;

use std::time::Duration;

pub use delete_webhook_events::delete_webhook_events;

use database::Database;
use runtime::Job;

use crate::metrics::{PaymentsMetrics, ReconciliationEnd};
use crate::reconcile::{ReconcileError, Start, reconcile};
use crate::settings::Settings;
use crate::store::reconciliation;

/// The longest pause between two checks whether the reconciliation is due.
const POLL: Duration = Duration::from_secs(30);
/// The pause after a failed reconciliation.
const RETRY: Duration = Duration::from_mins(1);

/// Makes the job; `None` if the settings schedule none. If an instance dies, the next scheduled run covers its period.
pub(crate) fn reconciliation(database: Database, settings: Settings) -> Option<Job> {
    let every = settings.reconcile.every?;
    Some(Job::every("reconciliation", POLL.min(every), move |_stop| {
        let (database, settings) = (database.clone(), settings.clone());
        async move {
            if !reconciliation::take_turn(&database, every).await? {
                return Ok(());
            }
            let done = run(&database, &settings).await;
            database.metrics::<PaymentsMetrics>().reconciliations.count(match &done {
                Ok(true) => ReconciliationEnd::Agreed,
                Ok(false) => ReconciliationEnd::Differed,
                Err(_) => ReconciliationEnd::Failed,
            });
            if done.is_err() {
                reconciliation::retry_after(&database, RETRY.min(every)).await?;
            }
            done.map(drop)
        }
    }))
}

/// Returns whether all records agree.
async fn run(database: &Database, settings: &Settings) -> Result<bool, ReconcileError> {
    let report = reconcile(database, settings, Start::Configured).await?;
    let counts = serde_json::json!(report.counts);
    let differences = report.differences().try_into().unwrap_or(u64::MAX);
    database.metrics::<PaymentsMetrics>().differences.inc_by(differences);
    if report.agrees {
        tracing::info!(%counts, "Reconciled: the records agree");
    } else {
        tracing::warn!(%counts, "Reconciled: the records differ; see `payments review list`");
    }
    Ok(report.agrees)
}
