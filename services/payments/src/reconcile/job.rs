//! The comparison by itself: one instance at a time takes the round that is due.

use std::time::Duration;

use database::Database;
use runtime::Job;

use super::gather::Unread;
use super::round::{Round, Since};
use crate::Settings;
use crate::store::reconciliation;

/// Between two looks whether a round is due, at most.
const LOOK: Duration = Duration::from_secs(30);
/// After a round that failed.
const AGAIN: Duration = Duration::from_mins(1);

/// The job; `None` if only people compare. A round whose instance dies is made up for by the next one.
pub(crate) fn job(database: Database, settings: Settings) -> Option<Job> {
    let every = settings.reconcile.every?;
    let look = LOOK.min(every);
    Some(Job::every("reconciliation", look, move || {
        let (database, settings) = (database.clone(), settings.clone());
        async move {
            if !reconciliation::take_turn(&database, every).await? {
                return Ok(());
            }
            let done = run(&database, &settings).await;
            if done.is_err() {
                reconciliation::try_again(&database, AGAIN.min(every)).await?;
            }
            done
        }
    }))
}

async fn run(database: &Database, settings: &Settings) -> Result<(), Unread> {
    let since = Since::Back(settings.reconcile.look_back());
    let report = Round { database, settings }.run(since).await?;
    let counts = serde_json::json!(report.counts);
    if report.agrees {
        tracing::info!(%counts, "Reconciled: all agrees");
    } else {
        tracing::warn!(%counts, "Reconciled: the books differ; see `payments review list`");
    }
    Ok(())
}
