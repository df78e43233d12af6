//! A closed loop: so many workers, each with one request under way, the next as soon as the answer is there.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::Load;
use crate::trouble::{Doing, Trouble};

/// Does one thing after the other.
pub(crate) trait Worker: Send + 'static {
    /// Does it once. An answer that is not the expected one is an error: there is no rate of failures.
    fn once(&mut self) -> impl Future<Output = Result<(), Trouble>> + Send;
}

/// Lets the workers work for this long; returns what it took, and the workers.
pub(crate) async fn closed_loop<W: Worker>(
    workers: Vec<W>,
    length: Duration,
) -> Result<(Load, Vec<W>), Trouble> {
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
            Ok((worker, took))
        });
    }
    let (mut workers, mut took) = (Vec::new(), Vec::new());
    while let Some(done) = running.join_next().await {
        let (worker, its) = done.doing("run a worker")??;
        workers.push(worker);
        took.extend(its);
    }
    Ok((Load::of(took, start.elapsed()), workers))
}
