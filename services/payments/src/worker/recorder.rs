//! Records results: those that come back while a transaction commits share the next one.

use database::{Database, GroupCommit, GroupSettings};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::attempt::Ended;
use super::failures;
use super::record::record_results;
use crate::processor::RequestBodies;
use crate::settings::WorkerSettings;
use crate::transitions::TransitionError;

/// A result with the span of its attempt, and the channel of the task that waits for its transaction.
type Waiting = ((Ended, Span), oneshot::Sender<()>);

/// The results that wait for their transaction.
#[derive(Clone)]
pub(super) struct Recorder(GroupCommit<Waiting>);

impl Recorder {
    /// All results that wait share a transaction.
    pub(super) fn new(database: &Database, bodies: &RequestBodies, settings: &WorkerSettings) -> Self {
        let WorkerSettings { concurrency, look_up_concurrency, lease, gather, .. } = *settings;
        let most = concurrency + look_up_concurrency;
        let groups = GroupSettings { size: most, at_once: 1, waiting: most, wait: lease, gather };
        let context = (database.clone(), bodies.clone(), settings.clone());
        let record = move |group| record_together(context.clone(), group);
        Self(GroupCommit::new(database.clone(), groups, record))
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
        let (start, alone) = (Instant::now(), [(ended, Span::current())]);
        let (recorded, result) = oneshot::channel();
        let [together] = alone.clone();
        if self.0.execute((together, recorded), result).await.is_ok() {
            return;
        }
        while let Err(error) = record_or_count(database, bodies, settings, &alone).await {
            if start.elapsed() > settings.lease {
                tracing::error!(%error, "a result was not recorded; the call will be made again");
                return;
            }
            tracing::warn!(%error, "a result was not recorded; retrying");
            tokio::time::sleep(settings.backoff.first).await;
        }
    }
}

/// Records results in one transaction. After an error their tasks get no answer, and each records its result alone.
async fn record_together(
    (database, bodies, settings): (Database, RequestBodies, WorkerSettings),
    group: Vec<Waiting>,
) {
    let (ended, waiting): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    match record_results(&database, &bodies, &settings, &ended).await {
        Ok(()) => {
            for recorded in waiting {
                let _ = recorded.send(()); // its task may have ended
            }
        }
        Err(error) => {
            tracing::warn!(%error, results = ended.len(), "results were not recorded together; each is recorded alone");
        }
    }
}

/// Records a result, or counts that it cannot be recorded. Returns a transient error.
async fn record_or_count(
    database: &Database,
    bodies: &RequestBodies,
    settings: &WorkerSettings,
    alone: &[(Ended, Span); 1],
) -> Result<(), TransitionError> {
    match record_results(database, bodies, settings, alone).await {
        Err(error) if !error.is_transient() => {
            let [(ended, span)] = alone;
            let counted = failures::count_unrecorded(database, bodies, settings, ended, &error);
            counted.instrument(span.clone()).await
        }
        recorded => recorded,
    }
}
