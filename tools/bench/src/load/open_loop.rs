//! An open loop: requests begin at fixed times and do not wait for earlier responses.
//!
//! The time of a request runs from its intended start, so a request that waits for a free connection is not shown as fast
//! (Gil Tene's *coordinated omission*, as in wrk2).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::{Load, Worker};
use harness::{Context, Error, Result};

/// Runs `per_second` actions in each second of this length; returns the load and the workers. With too few workers, actions
/// begin late, which counts.
pub(crate) async fn open_loop<W: Worker>(
    workers: Vec<W>,
    per_second: u32,
    length: Duration,
) -> Result<(Load, Vec<W>)> {
    let (start, next) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    let mut running = JoinSet::new();
    for mut worker in workers {
        let next = Arc::clone(&next);
        running.spawn(async move {
            let mut took = Vec::with_capacity(1024);
            loop {
                let after = Duration::from_secs(1) / per_second * next.fetch_add(1, Ordering::Relaxed);
                if after >= length {
                    return Ok::<_, Error>((worker, took));
                }
                sleep_until(start + after).await;
                worker.once().await?;
                took.push((start + after).elapsed());
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Its second action takes much longer than the pause between two starts.
    struct Slow {
        actions: u32,
    }

    impl Worker for Slow {
        async fn once(&mut self) -> Result<()> {
            self.actions += 1;
            let pause = if self.actions == 2 { Duration::from_secs(1) } else { Duration::ZERO };
            tokio::time::sleep(pause).await;
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_action_delays_later_ones_and_their_time_shows_it() {
        let length = Duration::from_millis(1_500);
        let (load, workers) = open_loop(vec![Slow { actions: 0 }], 10, length).await.unwrap();
        assert_eq!(workers[0].actions, 15, "every action is made");
        // The clock is that of the test. Five actions are on time, ten are late: by 1000 ms, 900 ms, … 100 ms.
        assert!((299.0..305.0).contains(&load.p50) && (999.0..1005.0).contains(&load.p99), "{load:?}");
    }
}
