//! The signals that stop a process, SIGTERM from a supervisor and SIGINT from a terminal, and the watchdog of its shutdown.
//!
//! One thread does nothing but receive the signals, so the process notices them although its other threads are blocked. A second thread,
//! the watchdog, ends the process if the shutdown takes too long.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{io, thread};

use database::Heartbeats;
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::health::STANDSTILL;

/// The exit code of a process that the watchdog has ended.
const ENDED_BY_WATCHDOG: i32 = 3;

/// The pause between two looks at the heartbeats. The times of standing parts count from a look at them.
const LOOK: Duration = Duration::from_secs(1);

/// The time to end by itself after a second signal.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The time for the last line of the log.
const LAST_LINE: Duration = Duration::from_millis(200);

/// Receives both signals.
pub(crate) struct Signals {
    received: UnboundedReceiver<()>,
    watchdog: Sender<()>,
}

impl Signals {
    /// Starts to receive them. From then on, neither ends the process by itself. The watchdog ends the process `limit` after the
    /// first signal, or after [`stopping`](Self::stopping).
    pub(crate) fn listen(limit: Duration, heartbeats: Heartbeats) -> io::Result<Self> {
        let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT])?;
        let (sender, received) = unbounded_channel();
        let (watchdog, watched) = channel();
        let to_watchdog = watchdog.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for _ in signals.forever() {
                // A receiver is gone only while the process ends.
                let _ = (to_watchdog.send(()), sender.send(()));
            }
        })?;
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            watch(&watched, limit, &heartbeats);
            end();
        })?;
        Ok(Self { received, watchdog })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        // Only the end of the process ends the sender.
        let _ = self.received.recv().await;
    }

    /// Tells the watchdog that the shutdown has begun without a signal.
    pub(crate) fn stopping(&self) {
        let _ = self.watchdog.send(());
    }
}

/// Returns when the process has to be ended.
fn watch(watched: &Receiver<()>, limit: Duration, heartbeats: &Heartbeats) {
    while watched.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let _ = heartbeats.standing_still(STANDSTILL);
    }
    // The shutdown has begun. A second signal leaves less time.
    if watched.recv_timeout(limit).is_ok() {
        thread::sleep(AT_ONCE);
    }
}

/// Ends the process although its threads stand still. Neither the log nor a hook of `exit` can delay it.
fn end() {
    let last_line = || tracing::error!("the watchdog ends the process: its shutdown takes too long");
    let _ = thread::Builder::new().spawn(last_line);
    thread::sleep(LAST_LINE);
    signal_hook::low_level::exit(ENDED_BY_WATCHDOG)
}
