//! Records results: those that come back while a transaction commits share the next one.

use database::{GroupCommit, GroupSettings, RetryLog};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::attempt::Ended;
use super::context::WorkerContext;
use super::failures;
use super::record::record_results;
use crate::settings::WorkerSettings;
use crate::transitions::TransitionError;

/// A result with the span of its attempt, and the channel of the task that waits for its transaction.
type Waiting = ((Ended, Span), oneshot::Sender<()>);

/// The results that wait for their transaction.
#[derive(Clone)]
pub(super) struct Recorder {
    context: WorkerContext,
    groups: GroupCommit<Waiting>,
}

impl Recorder {
    /// All results that wait share a transaction.
    pub(super) fn new(context: WorkerContext) -> Self {
        let WorkerSettings { concurrency, look_up_concurrency, lease, gather, .. } = context.settings;
        let most = concurrency + look_up_concurrency;
        let settings = GroupSettings { size: most, at_once: 1, waiting: most, wait: lease, gather };
        let of_group = context.clone();
        let record = move |group| record_together(of_group.clone(), group);
        Self { groups: GroupCommit::new(context.database.clone(), settings, record), context }
    }

    /// Records a result, or counts its failure if the database is not to blame, and retries while the lease lasts. After the
    /// lease, the call is due again, and another attempt under the same key gets the same response.
    pub(super) async fn record(&self, ended: Ended) {
        let WorkerSettings { lease, backoff, .. } = self.context.settings;
        let (start, alone) = (Instant::now(), [(ended, Span::current())]);
        let (recorded, result) = oneshot::channel();
        let [together] = alone.clone();
        if self.groups.execute((together, recorded), result).await.is_ok() {
            return;
        }
        let mut log = RetryLog::default();
        while let Err(error) = record_or_count(&self.context, &alone).await {
            if start.elapsed() > lease {
                tracing::error!(%error, "a result was not recorded; the call will be made again");
                return;
            }
            if log.failed().is_some() {
                tracing::warn!(%error, "a result was not recorded; retrying");
            }
            tokio::time::sleep(backoff.first).await;
        }
    }
}

/// Records results in one transaction. After an error their tasks get no answer, and each records its result alone.
async fn record_together(context: WorkerContext, group: Vec<Waiting>) {
    let (ended, waiting): (Vec<_>, Vec<_>) = group.into_iter().unzip();
    match record_results(&context, &ended).await {
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
async fn record_or_count(context: &WorkerContext, alone: &[(Ended, Span); 1]) -> Result<(), TransitionError> {
    match record_results(context, alone).await {
        Err(error) if !error.is_transient() => {
            let [(ended, span)] = alone;
            let counted = failures::count_unrecorded(context, ended, &error);
            counted.instrument(span.clone()).await
        }
        recorded => recorded,
    }
}
