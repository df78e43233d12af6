//! Carries accepted intents out: takes what is due, asks the processor with no transaction open, and settles.
//!
//! Any number of workers may run, in one process or in many. Each attempt is leased and numbered; a worker that was
//! thought dead and comes back asks under the same key and finds that its number is no longer the latest.

mod pace;
mod poison;
mod settle;
mod take;

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Database;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::advance::Fault;
use crate::intake::ACCEPTED;
use crate::processor::{Forms, Processor};
use crate::store::intents::Patience;

pub use pace::Pace;

use settle::{Attempt, News, settle};
use take::{Ask, Call, take};

/// How much a worker does, and how soon.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Calls at the same time.
    pub concurrency: usize,
    /// How long an attempt may go on before another worker takes the intent over.
    pub lease: Duration,
    /// How often the worker looks for what is due, beside being woken.
    pub poll: Duration,
    /// How long the processor is trusted to remember a key, from its first use.
    pub key_life: Duration,
    /// When it asks again.
    pub pace: Pace,
    /// Look-ups in a row that may find nothing; then people look.
    pub look_ups: u16,
    /// When it looks up again.
    pub look_up_pace: Pace,
    /// How often an intent may fail to be taken, by a fault that waiting does not mend; then people look.
    pub faults: i32,
}

impl Limits {
    pub(crate) fn patience(&self) -> Patience {
        Patience { key_life: self.key_life, look_ups: self.look_ups.into() }
    }
}

/// Carries intents out. Cheap to clone.
#[derive(Clone)]
pub struct Worker {
    database: Database,
    processor: Processor,
    forms: Forms,
    limits: Limits,
}

impl Worker {
    /// A worker on this database.
    pub fn new(database: Database, processor: Processor, forms: Forms, limits: Limits) -> Self {
        Self { database, processor, forms, limits }
    }

    /// Works until it is told to stop; then finishes the calls that are out.
    pub async fn run(self, stop: CancellationToken) {
        let accepted = self.database.signal(ACCEPTED);
        let slots = Arc::new(Semaphore::new(self.limits.concurrency));
        let calls = TaskTracker::new();
        while let Some(Ok(slot)) = stop.run_until_cancelled(Arc::clone(&slots).acquire_owned()).await {
            let found = match self.round(slot, &slots, &calls).await {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(%error, "no intents were taken; trying again");
                    0
                }
            };
            if found == 0 {
                let woken = async {
                    tokio::select! {
                        () = accepted.notified() => {}
                        () = tokio::time::sleep(self.limits.poll) => {}
                    }
                };
                let _ = stop.run_until_cancelled(woken).await;
            }
        }
        calls.close();
        calls.wait().await;
    }

    /// Takes as many intents as there are free slots, and starts their calls. Returns how many were due.
    async fn round(
        &self,
        slot: OwnedSemaphorePermit,
        slots: &Arc<Semaphore>,
        calls: &TaskTracker,
    ) -> Result<usize, Fault> {
        let mut free = vec![slot];
        while let Ok(slot) = Arc::clone(slots).try_acquire_owned() {
            free.push(slot);
        }
        let taken = take(&self.database, &self.forms, &self.limits, free.len()).await?;
        for (call, slot) in taken.calls.into_iter().zip(free) {
            let worker = self.clone();
            let work = async move {
                worker.carry_out(call).await;
                drop(slot);
            };
            drop(self.database.spawn(calls.track_future(work)));
        }
        Ok(taken.found)
    }

    async fn carry_out(&self, call: Call) {
        crashpoint::reach!("charge.attempt_committed");
        let Call { attempt, ask } = call;
        let (payment, intent, number) = (attempt.payment, attempt.intent, attempt.number);
        tracing::info!(%payment, %intent, attempt = number, "AttemptStarted");
        let news = match ask {
            Ask::Request(request) => News::Answered(self.processor.ask(&request).await),
            Ask::LookUp(look_up) => News::LookedUp(self.processor.look_up(&look_up).await),
        };
        tracing::info!(%payment, %intent, attempt = number, outcome = %news, "AttemptEnded");
        let is_refund = intent != payment.uuid();
        if is_refund {
            crashpoint::reach!("refund.request_sent");
        }
        self.record(&attempt, &news).await;
        if is_refund {
            crashpoint::reach!("refund.outcome_recorded");
        }
        crashpoint::reach!("charge.outcome_recorded");
    }

    /// Records the news, trying again while the lease lasts. Past it the intent is due anyway, and asking again finds
    /// the same answer.
    async fn record(&self, attempt: &Attempt, news: &News) {
        let start = Instant::now();
        while let Err(error) = settle(&self.database, &self.forms, &self.limits, attempt, news).await {
            let intent = attempt.intent;
            if start.elapsed() > self.limits.lease {
                tracing::error!(%intent, %error, "an outcome was not recorded; the intent will be asked for again");
                return;
            }
            tracing::warn!(%intent, %error, "an outcome was not recorded; trying again");
            tokio::time::sleep(self.limits.pace.first).await;
        }
    }
}
