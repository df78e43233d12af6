//! What a service does by itself, beside answering requests and messages.

use std::fmt::Display;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// A background job. It runs on the database runtime from the moment the database is open, in every instance of the
/// service, until it is told to stop; if it ends before, the process ends.
pub struct Job {
    pub(crate) name: &'static str,
    pub(crate) run: Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send>,
}

impl Job {
    /// A job with a loop of its own: it ends soon after its token is cancelled, and not before.
    pub fn new<F, Run>(name: &'static str, run: F) -> Self
    where
        F: FnOnce(CancellationToken) -> Run + Send + 'static,
        Run: Future<Output = ()> + Send + 'static,
    {
        Self { name, run: Box::new(move |stop| run(stop).boxed()) }
    }

    /// A job that works at once and then again, `pause` after it has ended. A failure is logged and costs nothing but
    /// the time until the next attempt.
    pub fn every<F, Work, E>(name: &'static str, pause: Duration, mut work: F) -> Self
    where
        F: FnMut() -> Work + Send + 'static,
        Work: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        Self::new(name, move |stop| async move {
            while !stop.is_cancelled() {
                if let Err(error) = work().await {
                    tracing::warn!(job = name, %error, "a job failed; it will run again");
                }
                let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
            }
        })
    }
}
