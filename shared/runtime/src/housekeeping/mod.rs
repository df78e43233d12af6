//! Housekeeping: jobs of every service that create partitions and erase expired rows.
//!
//! One instance at a time runs a job, by a lease in the database (`job_lease`). The lease saves work; it protects nothing,
//! because every job may run twice at the same time. A job runs one pass, and again its pause after that, on any instance.
//! A pass that an instance did not end is due at once for the next one.

mod job_lease;
mod schedule;
mod status;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod time_lapse;

use std::fmt::{Debug, Display};
use std::time::Duration;

use database::Database;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use job_lease::JobLease;

pub(crate) use schedule::schedule;
pub(crate) use status::{JobStatus, job_status};

/// The longest pause between two looks whether a job is due.
const LOOK: Duration = Duration::from_mins(1);
/// The pause after a failed pass.
const RETRY: Duration = Duration::from_mins(1);
/// The length of a lease; a pass renews it three times as often. The job of an instance that died waits so long.
const LEASE: Duration = Duration::from_mins(1);

/// The times of a job.
#[derive(Clone, Copy)]
struct Times {
    /// From the end of a pass to the next one.
    pause: Duration,
    retry: Duration,
    look: Duration,
    lease: Duration,
}

type RunPass = Box<
    dyn Fn(Database, CancellationToken) -> BoxFuture<'static, Result<Option<String>, String>> + Send + Sync,
>;

/// A housekeeping job: a pass that one instance at a time runs, again and again.
pub struct HousekeepingJob {
    pub(crate) name: &'static str,
    times: Times,
    /// Returns the counts of the pass for the log; `None` if all are zero.
    pass: RunPass,
}

impl HousekeepingJob {
    /// A job that runs a pass, and again `pause` after each. The pass must end soon after its token is cancelled. The log
    /// shows its counts, unless they are all zero.
    pub fn every<F, Work, Counts, E>(name: &'static str, pause: Duration, pass: F) -> Self
    where
        F: Fn(Database, CancellationToken) -> Work + Send + Sync + 'static,
        Work: Future<Output = Result<Counts, E>> + Send + 'static,
        Counts: Debug + Default + PartialEq,
        E: Display,
    {
        let summary = |counts: Counts| (counts != Counts::default()).then(|| format!("{counts:?}"));
        Self {
            name,
            times: Times { pause, retry: RETRY.min(pause), look: LOOK.min(pause), lease: LEASE },
            pass: Box::new(move |database, stop| {
                let pass = pass(database, stop);
                async move { pass.await.map(summary).map_err(|error| error.to_string()) }.boxed()
            }),
        }
    }

    /// Runs the job whenever it is due, until it is stopped.
    pub(crate) async fn run(self, database: Database, stop: CancellationToken) -> Result<(), String> {
        let holder = format!("{}-{}", std::process::id(), Uuid::new_v4().simple());
        let lease = JobLease { database: &database, name: self.name, holder: &holder };
        while !stop.is_cancelled() {
            if let Err(error) = self.take_turn(&lease, &stop).await {
                tracing::warn!(job = self.name, %error, "housekeeping could not read or write its lease");
            }
            let _ = stop.run_until_cancelled(tokio::time::sleep(self.times.look)).await;
        }
        Ok(())
    }

    /// Runs one pass if it is due and no other instance runs it.
    async fn take_turn(&self, lease: &JobLease<'_>, stop: &CancellationToken) -> database::Result<()> {
        if !lease.take(self.times.lease).await? {
            return Ok(());
        }
        let result = self.run_pass(lease, stop).await;
        if let Ok(Some(counts)) = &result {
            tracing::info!(job = self.name, counts, "HousekeepingDone");
        }
        match result {
            // A pass that was stopped has not done everything.
            Ok(_) if stop.is_cancelled() => lease.give_up().await,
            Ok(_) => lease.end(Ok(()), self.times.pause).await,
            Err(error) => {
                tracing::warn!(job = self.name, error, "HousekeepingFailed");
                lease.end(Err(&error), self.times.retry).await
            }
        }
    }

    /// Runs one pass, and renews the lease meanwhile. If another instance has taken the lease, the pass is stopped.
    async fn run_pass(
        &self,
        lease: &JobLease<'_>,
        stop: &CancellationToken,
    ) -> Result<Option<String>, String> {
        let stop = stop.child_token();
        let mut pass = (self.pass)(lease.database.clone(), stop.clone());
        loop {
            tokio::select! {
                result = &mut pass => return result,
                () = tokio::time::sleep(self.times.lease / 3) => {}
            }
            match lease.renew(self.times.lease).await {
                Ok(true) => {}
                Ok(false) => stop.cancel(),
                Err(error) => tracing::debug!(job = self.name, %error, "the lease was not renewed"),
            }
        }
    }
}
