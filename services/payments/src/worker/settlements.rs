//! Records results: those that come back while a transaction commits share the next one.

use std::time::Duration;

use database::{CommitGroup, Database};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::attempt::Ended;
use super::failures;
use super::settle::settle;
use crate::processor::RequestBodies;
use crate::settings::WorkerSettings;
use crate::transitions::TransitionError;

/// The results that wait for their transaction.
pub(super) struct Settlements(CommitGroup<(Ended, Span), ()>);

impl Settlements {
    /// Under load, transactions start so long after each other.
    pub(super) fn new(gather: Duration) -> Self {
        Self(CommitGroup::new(gather))
    }

    /// Records a result, or counts its failure if the database is not to blame, and retries while the lease lasts. After the
    /// lease, the call is due again, and another attempt under the same key gets the same response.
    pub(super) async fn record(
        &self,
        database: &Database,
        bodies: &RequestBodies,
        settings: &WorkerSettings,
        ended: Ended,
    ) {
        let start = Instant::now();
        let together = |group: Vec<(Ended, Span)>| async move {
            let results = group.len();
            match settle(database, bodies, settings, &group).await {
                Ok(()) => Some(vec![(); results]),
                Err(error) => {
                    tracing::warn!(%error, results, "results were not recorded together; each is recorded alone");
                    None
                }
            }
        };
        if self.0.execute((ended.clone(), Span::current()), together).await.is_some() {
            return;
        }
        let alone = [(ended, Span::current())];
        while let Err(error) = settle_or_count(database, bodies, settings, &alone).await {
            if start.elapsed() > settings.lease {
                tracing::error!(%error, "a result was not recorded; the call will be made again");
                return;
            }
            tracing::warn!(%error, "a result was not recorded; retrying");
            tokio::time::sleep(settings.backoff.first).await;
        }
    }
}

/// Records a result, or counts that it cannot be recorded. Returns a transient error.
async fn settle_or_count(
    database: &Database,
    bodies: &RequestBodies,
    settings: &WorkerSettings,
    alone: &[(Ended, Span); 1],
) -> Result<(), TransitionError> {
    match settle(database, bodies, settings, alone).await {
        Err(error) if !error.is_transient() => {
            let [(ended, span)] = alone;
            let counted = failures::count_unrecorded(database, bodies, settings, ended, &error);
            counted.instrument(span.clone()).await
        }
        settled => settled,
    }
}
