//! `Heartbeats`: finds the parts of a process that stand still.
//!
//! Each part has a count that grows while the part makes progress. A part whose count stays the same for longer than a limit
//! stands still. A task that waits for a server makes progress: its thread is free for other tasks.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeMetrics};
use tokio::time::timeout;

/// The pause between two beats of a task.
const PAUSE: Duration = Duration::from_millis(250);

/// The parts of a process, and which of them make no progress. Cheap to clone; all clones share the parts.
#[derive(Clone, Default)]
pub struct Heartbeats(Arc<Mutex<Vec<Part>>>);

struct Part {
    name: &'static str,
    progress: Progress,
    /// The count at the last look, and the time of the first look that found this count.
    seen: (u64, Instant),
}

enum Progress {
    /// The beats of a [`Heartbeat`]. The part is gone when its heartbeat is dropped.
    Beats(Weak<AtomicU64>),
    /// The work of one thread of a runtime, as the runtime counts it.
    Thread(RuntimeMetrics, usize),
}

/// The heartbeat of one part. Drop it when the part ends.
#[derive(Clone)]
pub struct Heartbeat(Arc<AtomicU64>);

impl Heartbeats {
    /// The threads of this runtime are the first parts. A thread that one task keeps busy stands still.
    pub(crate) fn of_runtime(runtime: &Handle) -> Self {
        let heartbeats = Self::default();
        let metrics = runtime.metrics();
        for thread in 0..metrics.num_workers() {
            heartbeats.add("database runtime", Progress::Thread(metrics.clone(), thread));
        }
        heartbeats
    }

    /// Adds a part. Several parts may have the same name.
    pub fn of(&self, name: &'static str) -> Heartbeat {
        let beats = Arc::default();
        self.add(name, Progress::Beats(Arc::downgrade(&beats)));
        Heartbeat(beats)
    }

    /// Returns the names of the parts that have made no progress for longer than `limit`. The time counts from the look that
    /// finds a part without progress, so call this more often than `limit`.
    pub fn standing_still(&self, limit: Duration) -> Vec<&'static str> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        parts.retain_mut(|part| part.look(now));
        let mut names: Vec<_> =
            parts.iter().filter(|part| now - part.seen.1 > limit).map(|part| part.name).collect();
        names.dedup();
        names
    }

    fn add(&self, name: &'static str, progress: Progress) {
        // A poisoned lock is safe to use: the order and the number of parts do not matter.
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push(Part { name, progress, seen: (0, Instant::now()) });
    }
}

impl Part {
    /// Reads the count. Returns false if the part is gone.
    fn look(&mut self, now: Instant) -> bool {
        let (count, is_idle) = match &self.progress {
            Progress::Beats(beats) => match beats.upgrade() {
                Some(beats) => (beats.load(Ordering::Relaxed), false),
                None => return false,
            },
            Progress::Thread(metrics, thread) => {
                let parked = metrics.worker_park_unpark_count(*thread);
                let busy = metrics.worker_total_busy_duration(*thread).as_micros();
                // An odd count says that the thread is parked, because it has no task to run.
                (parked.wrapping_add(u64::try_from(busy).unwrap_or(u64::MAX)), parked % 2 == 1)
            }
        };
        if is_idle || count != self.seen.0 {
            self.seen = (count, now);
        }
        true
    }
}

impl Heartbeat {
    /// Tells that the part makes progress.
    pub fn beat(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs this work, and beats for as long as its thread gives it turns.
    pub async fn during<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            self.beat();
            if let Ok(done) = timeout(PAUSE, &mut work).await {
                return done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::mpsc;
    use std::thread;

    use tokio::runtime::Builder;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    /// Looks until the parts that stand still are these.
    fn until(heartbeats: &Heartbeats, expected: &[&str]) {
        let start = Instant::now();
        while heartbeats.standing_still(LIMIT) != expected {
            assert!(start.elapsed() < Duration::from_mins(1), "not {expected:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_blocked_thread_stands_still_and_idle_threads_and_waiting_tasks_do_not() {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let heartbeats = Heartbeats::of_runtime(runtime.handle());
        let silent = heartbeats.of("silent");
        until(&heartbeats, &["silent"]); // and no thread, although all of them are idle for as long
        drop(silent);
        let task = runtime.spawn(heartbeats.of("task").during(pending::<()>()));
        until(&heartbeats, &[]);
        let (go_on, blocked) = mpsc::channel::<()>();
        runtime.spawn(async move { blocked.recv() });
        until(&heartbeats, &["database runtime"]);
        drop(go_on);
        until(&heartbeats, &[]);
        task.abort();
    }
}
