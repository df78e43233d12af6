//! Records results together: those that come back while a transaction commits share the next one (group commit).
//!
//! The first task whose turn it is records what has come back, its own result among it, and informs the others. If that fails,
//! each task records its result alone, so that one result cannot keep the others back.

use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use database::{Database, Gather};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::Span;

use super::settle::{Ended, settle};
use crate::processor::RequestBodies;
use crate::settings::WorkerSettings;
use crate::transitions::TransitionError;

/// The results that wait for their transaction.
pub(super) struct Settlements {
    waiting: Mutex<Vec<Waiting>>,
    turn: tokio::sync::Mutex<Gather>,
}

struct Waiting {
    ended: Ended,
    span: Span,
    recorded: oneshot::Sender<()>,
}

impl Settlements {
    /// Under load, transactions start so long after each other.
    pub(super) fn new(gather: Duration) -> Self {
        Self { waiting: Mutex::default(), turn: tokio::sync::Mutex::new(Gather::new(gather)) }
    }

    /// Records a result, and retries while the lease lasts. After the lease, the call is due again, and another attempt
    /// under the same key gets the same response.
    pub(super) async fn record(
        &self,
        database: &Database,
        bodies: &RequestBodies,
        settings: &WorkerSettings,
        ended: Ended,
    ) {
        let start = Instant::now();
        if self.record_together(database, bodies, settings, ended.clone()).await {
            return;
        }
        let alone = [(ended, Span::current())];
        while let Err(error) = settle(database, bodies, settings, &alone).await {
            if start.elapsed() > settings.lease {
                tracing::error!(%error, "a result was not recorded; the call will be made again");
                return;
            }
            tracing::warn!(%error, "a result was not recorded; retrying");
            tokio::time::sleep(settings.backoff.first).await;
        }
    }

    /// Returns whether the result was recorded with others.
    async fn record_together(
        &self,
        database: &Database,
        bodies: &RequestBodies,
        settings: &WorkerSettings,
        ended: Ended,
    ) -> bool {
        let (recorded, mut is_recorded) = oneshot::channel();
        self.waiting().push(Waiting { ended, span: Span::current(), recorded });
        let mut turn = tokio::select! {
            biased;
            recorded = &mut is_recorded => return recorded.is_ok(),
            turn = self.turn.lock() => turn,
        };
        turn.wait().await;
        let group = take(&mut *self.waiting());
        if !group.is_empty() {
            turn.started(Instant::now(), group.len());
            let (ended, others): (Vec<_>, Vec<_>) =
                group.into_iter().map(|Waiting { ended, span, recorded }| ((ended, span), recorded)).unzip();
            match settle(database, bodies, settings, &ended).await {
                Ok(()) => others.into_iter().for_each(|recorded| _ = recorded.send(())),
                Err(error) => log(&error, ended.len()),
            }
        }
        drop(turn);
        is_recorded.await.is_ok()
    }

    /// A poisoned lock is safe to use: each update is a single push or take.
    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log(error: &TransitionError, results: usize) {
    tracing::warn!(%error, results, "results were not recorded together; each is recorded alone");
}
