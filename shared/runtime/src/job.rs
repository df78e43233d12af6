//! Background jobs of a service.

use std::fmt::Display;
use std::time::Duration;

use database::RetryLog;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A background job. Every instance runs it on the database runtime, from the moment the database is usable until
/// shutdown. A job that ends earlier ends the process.
pub struct Job {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Job {
    /// A job with a loop of its own. It must end soon after its token is cancelled, and not earlier.
    pub fn new<F, Run>(name: &'static str, run: F) -> Self
    where
        F: FnOnce(CancellationToken) -> Run + Send + 'static,
        Run: Future<Output = ()> + Send + 'static,
    {
        Self { name, run: Box::new(move |stop| run(stop).boxed()) }
    }

    /// A job that runs at once, and again `pause` after each run. Errors are logged, at most one every ten seconds. A run that takes
    /// long ends soon after its token is cancelled.
    pub fn every<F, Work, E>(name: &'static str, pause: Duration, mut work: F) -> Self
    where
        F: FnMut(CancellationToken) -> Work + Send + 'static,
        Work: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        Self::new(name, move |stop| async move {
            let mut log = RetryLog::default();
            while !stop.is_cancelled() {
                match work(stop.clone()).await {
                    Ok(()) => {
                        if let Some(failing) = log.succeeded() {
                            tracing::info!(job = name, ?failing, "a job succeeds again");
                        }
                    }
                    Err(error) if log.failed().is_some() => {
                        tracing::warn!(job = name, %error, "a job failed; it runs again after its pause");
                    }
                    Err(_) => {}
                }
                let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
            }
        })
    }
}
