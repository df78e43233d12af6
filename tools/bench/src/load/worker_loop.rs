//! Workers that repeat one action, in a closed or in an open loop.
//!
//! In a closed loop, each worker begins its next action when the last one has ended. In an open loop, actions begin at fixed times and
//! do not wait for earlier ones. The time of an action runs from its intended start, so a request that waits for a free connection
//! is not shown as fast (Gil Tene's *coordinated omission*, as in wrk2).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

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
    run(workers, start, move || (start.elapsed() < length).then(Instant::now)).await
}

/// Runs `per_second` actions in each second of this length; returns the load and the workers. With too few workers, actions
/// begin late, which counts.
pub(crate) async fn open_loop<W: Worker>(
    workers: Vec<W>,
    per_second: u32,
    length: Duration,
) -> Result<(Load, Vec<W>)> {
    let (start, next) = (Instant::now(), Arc::new(AtomicU32::new(0)));
    let next_start = move || {
        let after = Duration::from_secs(1) / per_second * next.fetch_add(1, Ordering::Relaxed);
        (after < length).then_some(start + after)
    };
    run(workers, start, next_start).await
}

/// Runs actions until there is no next intended start.
async fn run<W: Worker>(
    workers: Vec<W>,
    start: Instant,
    next_start: impl Fn() -> Option<Instant> + Clone + Send + 'static,
) -> Result<(Load, Vec<W>)> {
    let mut running = JoinSet::new();
    for mut worker in workers {
        let next_start = next_start.clone();
        running.spawn(async move {
            let mut took = Vec::with_capacity(16 * 1024);
            while let Some(intended) = next_start() {
                // A sleep until now would take as long as the timer's step.
                if intended > Instant::now() {
                    sleep_until(intended).await;
                }
                worker.once().await?;
                took.push(intended.elapsed());
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
