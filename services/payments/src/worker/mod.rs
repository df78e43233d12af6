//! The worker: takes due processor calls, calls the processor without an open transaction, and records the results.
//!
//! One attempt has three steps: `take` leases the call, the client sends the request or looks it up, and `record_results` records the
//! result. Calls that are due together are taken by one transaction, and results that come back together are recorded by
//! one. Any number of workers may run in any number of processes. Each attempt has a number, the fencing token. A worker
//! whose lease has ended therefore cannot overwrite the result of its successor.

mod attempt;
mod backoff;
mod context;
mod failures;
mod record;
mod recorder;
mod take;

use std::sync::Arc;

use database::{Database, Gather, RetryLog};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::processor::{CallPolicy, Processor};
use crate::settings::WorkerSettings;
use crate::store::calls::Lane;
use crate::transitions::TransitionError;

use attempt::{AttemptResult, Ended};
use context::WorkerContext;
use recorder::Recorder;
use take::{CallAction, LeasedCall, take};

/// A worker. It is cheap to clone.
#[derive(Clone)]
pub struct Worker {
    context: WorkerContext,
    processor: Processor,
    recorder: Recorder,
}

impl Worker {
    /// Makes a worker for this database.
    pub fn new(
        database: Database,
        processor: Processor,
        policy: CallPolicy,
        settings: WorkerSettings,
    ) -> Self {
        let context = WorkerContext { database, policy, settings };
        let recorder = Recorder::new(context.clone());
        Self { context, processor, recorder }
    }

    /// Works until `stop` is cancelled, and then finishes the calls in flight.
    pub async fn run(self, stop: CancellationToken) {
        let WorkerSettings { concurrency, look_up_concurrency, .. } = self.context.settings;
        let requests = self.run_lane(Lane::Requests, concurrency, &stop);
        tokio::join!(requests, self.run_lane(Lane::Lookups, look_up_concurrency, &stop));
    }

    async fn run_lane(&self, lane: Lane, concurrency: usize, stop: &CancellationToken) {
        let due = self.context.database.wake_up(lane.wake_up());
        let slots = Arc::new(Semaphore::new(concurrency));
        let calls = TaskTracker::new();
        let (mut gather, mut log) = (Gather::new(self.context.settings.gather), RetryLog::default());
        loop {
            let free = async {
                gather.wait().await;
                free_slots(&slots).await
            };
            let Some(Some(slots)) = stop.run_until_cancelled(free).await else { break };
            let (taken_at, free) = (Instant::now(), slots.num_permits());
            let found = match self.round(lane, slots, &calls).await {
                Ok(found) => {
                    if let Some(failing) = log.succeeded() {
                        tracing::info!(?lane, ?failing, "the worker takes calls again");
                    }
                    found
                }
                Err(error) => {
                    if log.failed().is_some() {
                        tracing::warn!(?lane, %error, "the worker took no calls and will retry");
                    }
                    0
                }
            };
            gather.started(taken_at, found);
            if found < free {
                let woken = async {
                    tokio::select! {
                        () = due.notified() => {}
                        () = tokio::time::sleep(self.context.settings.poll) => {}
                    }
                };
                let _ = stop.run_until_cancelled(woken).await;
            }
        }
        calls.close();
        calls.wait().await;
    }

    /// Takes as many calls as there are free slots, and starts them. Returns the number of due calls.
    async fn round(
        &self,
        lane: Lane,
        mut slots: OwnedSemaphorePermit,
        calls: &TaskTracker,
    ) -> Result<usize, TransitionError> {
        let taken = take(&self.context, lane, slots.num_permits()).await?;
        for call in taken.leased {
            let (worker, span, slot) = (self.clone(), call.span.clone(), slots.split(1));
            let work = async move {
                worker.carry_out(call).await;
                drop(slot);
            };
            drop(self.context.database.spawn(calls.track_future(work.instrument(span))));
        }
        Ok(taken.due)
    }

    async fn carry_out(&self, call: LeasedCall) {
        crashpoint::reach!("charge.attempt_committed");
        let LeasedCall { attempt, action, .. } = call;
        tracing::info!("AttemptStarted");
        let result = match action {
            CallAction::Send(request) => AttemptResult::Responded(self.processor.send(&request).await),
            CallAction::Lookup(lookup) => AttemptResult::LookedUp(self.processor.look_up(&lookup).await),
        };
        tracing::info!(outcome = %result, "AttemptEnded");
        let is_refund = attempt.call != attempt.payment.uuid();
        if is_refund {
            crashpoint::reach!("refund.request_sent");
        }
        self.recorder.record(Ended { attempt, result }).await;
        if is_refund {
            crashpoint::reach!("refund.outcome_recorded");
        }
        crashpoint::reach!("charge.outcome_recorded");
    }
}

/// Waits for a free slot, and takes all that are free.
async fn free_slots(slots: &Arc<Semaphore>) -> Option<OwnedSemaphorePermit> {
    let mut free = Arc::clone(slots).acquire_owned().await.ok()?;
    while let Ok(another) = Arc::clone(slots).try_acquire_owned() {
        free.merge(another);
    }
    Some(free)
}
