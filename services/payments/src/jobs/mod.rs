//! The jobs that start by time, beside the worker: the reconciliation, the deletion of webhook events, and the balances of the
//! ledger.

pub(crate) mod delete_webhook_events;
pub(crate) mod fold_balances;

pub use delete_webhook_events::delete_webhook_events;

use database::Database;
use runtime::HousekeepingJob;

use crate::metrics::{PaymentsMetrics, ReconciliationEnd};
use crate::reconcile::{ReconcileError, Start, reconcile};
use crate::settings::Settings;

/// Makes the job of the reconciliation; `None` if the settings schedule none.
pub(crate) fn reconciliation(settings: Settings) -> Option<HousekeepingJob> {
    let every = settings.reconcile.every?;
    Some(HousekeepingJob::every("reconciliation", every, move |database, _stop| {
        let settings = settings.clone();
        async move {
            let done = run(&database, &settings).await;
            database.metrics::<PaymentsMetrics>().reconciliations.count(match &done {
                Ok(true) => ReconciliationEnd::Agreed,
                Ok(false) => ReconciliationEnd::Differed,
                Err(_) => ReconciliationEnd::Failed,
            });
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
