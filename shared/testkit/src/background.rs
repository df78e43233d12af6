//! What runs beside a test, as a service's background tasks run beside its handlers.

use std::future::Future;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Something that runs until it is told to stop. Dropped, it is killed: whatever it was doing stays half done, as
/// when its process dies.
#[must_use = "dropped, it is killed"]
pub struct Background {
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Background {
    /// Starts it; it is given what tells it to stop.
    pub fn run<F: Future<Output = ()> + Send + 'static>(start: impl FnOnce(CancellationToken) -> F) -> Self {
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        tasks.spawn(start(stop.clone()));
        Self { stop, tasks }
    }

    /// Tells it to stop, and waits until it has ended in order.
    pub async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }

    /// Ends it in the middle of whatever it is doing; returns once nothing of it runs any more.
    pub async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}
