//! A task that runs beside a test, like the background tasks of a service.

use std::future::Future;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A task that runs until it is stopped. Dropping it kills the task in the middle of its work, like the death of a process.
#[must_use = "dropping it kills the task"]
pub struct Background {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Background {
    /// Starts a task. Its token is cancelled when the task should stop.
    pub fn run<F: Future<Output = ()> + Send + 'static>(start: impl FnOnce(CancellationToken) -> F) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(start(stop.clone()));
        Self { stop, tasks }
    }

    /// Cancels the token, and waits until the task has ended.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }

    /// Kills the task in the middle of its work; returns once the task has ended.
    pub async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}
