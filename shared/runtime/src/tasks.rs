//! Background tasks with names. A task that panics, fails or ends early is reported and ends the process.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Tasks that stop together.
#[derive(Clone)]
pub(crate) struct Tasks {
    runtime: Handle,
    tracker: TaskTracker,
    stop: CancellationToken,
    task_errors: UnboundedSender<String>,
    running: Arc<Mutex<BTreeSet<&'static str>>>,
}

impl Tasks {
    /// Tasks on this runtime. A task that panics, fails or ends early sends a sentence on `task_errors`.
    pub(crate) fn new(runtime: Handle, task_errors: UnboundedSender<String>) -> Self {
        let (tracker, stop, running) = (TaskTracker::new(), CancellationToken::new(), Arc::default());
        Self { runtime, tracker, stop, task_errors, running }
    }

    /// Is cancelled when the tasks must stop.
    pub(crate) fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs a task that must run until it is stopped.
    pub(crate) fn keep(
        &self,
        name: &'static str,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        let stop = self.stop.clone();
        self.spawn(name, task, move || (!stop.is_cancelled()).then_some("ended before it was stopped"));
    }

    /// Runs a task that must end without an error.
    pub(crate) fn finish(
        &self,
        name: &'static str,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
    ) {
        self.spawn(name, task, || None);
    }

    fn spawn(
        &self,
        name: &'static str,
        task: impl Future<Output = Result<(), String>> + Send + 'static,
        ended: impl FnOnce() -> Option<&'static str> + Send + 'static,
    ) {
        let tasks = self.clone();
        tasks.running().insert(name);
        self.tracker.spawn_on(
            async move {
                let error = match AssertUnwindSafe(task).catch_unwind().await {
                    Ok(Ok(())) => ended().map(str::to_owned),
                    Ok(Err(error)) => Some(format!("failed: {error}")),
                    Err(_) => Some("panicked".to_owned()),
                };
                tasks.running().remove(name);
                if let Some(error) = error {
                    // The receiver is gone only while the process ends.
                    let _ = tasks.task_errors.send(format!("the background task \"{name}\" {error}"));
                }
            },
            &self.runtime,
        );
    }

    /// Stops the tasks and waits for them. Returns the names of the tasks that did not end within `limit`.
    pub(crate) async fn stop(&self, limit: Duration) -> Vec<&'static str> {
        self.stop.cancel();
        self.tracker.close();
        let _ = tokio::time::timeout(limit, self.tracker.wait()).await;
        self.running().iter().copied().collect()
    }

    fn running(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_task_that_ends_unasked_is_reported_by_name() {
        let (sender, mut task_errors) = mpsc::unbounded_channel();
        let tasks = Tasks::new(Handle::current(), sender);
        tasks.keep("sleepy", async { Ok(()) });
        let ended = task_errors.recv().await.unwrap();
        assert_eq!(ended, "the background task \"sleepy\" ended before it was stopped");
        tasks.keep("clumsy", async { panic!("this test's own") });
        assert_eq!(task_errors.recv().await.unwrap(), "the background task \"clumsy\" panicked");
        tasks.finish("short", async { Err("no luck".to_owned()) });
        assert_eq!(task_errors.recv().await.unwrap(), "the background task \"short\" failed: no luck");
    }

    #[tokio::test]
    async fn a_stopped_task_is_waited_for_and_not_reported() {
        let (sender, mut task_errors) = mpsc::unbounded_channel();
        let tasks = Tasks::new(Handle::current(), sender);
        tasks.finish("short", async { Ok(()) });
        let stop = tasks.stop_token();
        tasks.keep("obedient", async move {
            stop.cancelled().await;
            Ok(())
        });
        assert_eq!(tasks.stop(TIMEOUT).await, Vec::<&str>::new());
        drop(tasks);
        assert!(task_errors.recv().await.is_none());
    }

    #[tokio::test]
    async fn a_task_that_does_not_stop_is_named() {
        let (sender, _deaths) = mpsc::unbounded_channel();
        let tasks = Tasks::new(Handle::current(), sender);
        tasks.keep("deaf", std::future::pending());
        assert_eq!(tasks.stop(Duration::from_millis(10)).await, ["deaf"]);
    }
}
