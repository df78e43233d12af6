//! A closed loop: each worker sends its next request when it has the response to the last one.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Load;
use harness::{Context, Error, Result};

/// Repeats one action.
pub(crate) trait Worker: Send + 'static {
    /// Does it once. An unexpected response is an error, because failures would distort the rate.
    fn once(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Runs the workers for this long; returns the load and the workers.
pub(crate) async fn closed_loop<W: Worker>(workers: Vec<W>, length: Duration) -> Result<(Load, Vec<W>)> {
    let start = Instant::now();
    let mut running = JoinSet::new();
    for mut worker in workers {
        running.spawn(async move {
            let mut took = Vec::with_capacity(16 * 1024);
            while start.elapsed() < length {
                let began = Instant::now();
                worker.once().await?;
                took.push(began.elapsed());
            }
            Ok::<_, Error>((worker, took))
        });
    }
    let (mut workers, mut took) = (Vec::new(), Vec::new());
    while let Some(done) = running.join_next().await {
        let (worker, its) = done.context("run a worker")??;
        workers.push(worker);
        took.extend(its);
    }
    Ok((Load::of(took, start.elapsed()), workers))
}
