//! The signals that stop a process, SIGTERM from a supervisor and SIGINT from a terminal, and the watchdog of its shutdown.
//!
//! A thread of its own receives them, so that they are noticed while every other thread stands still. The same thread ends the
//! process if the shutdown takes too long.

use std::time::Duration;
use std::{io, thread};

use database::Heartbeats;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::health::STANDSTILL;

/// The exit code of a process that the watchdog has ended.
const ENDED_BY_WATCHDOG: i32 = 3;

/// The time to end by itself after a second signal.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The time for the last line of the log.
const LAST_LINE: Duration = Duration::from_millis(200);

/// Receives both signals.
pub(crate) struct Signals {
    received: UnboundedReceiver<()>,
    stopping: CancellationToken,
}

impl Signals {
    /// Starts to receive them. From then on, neither ends the process by itself. The watchdog ends the process `limit` after the
    /// first signal, or after [`stopping`](Self::stopping).
    pub(crate) fn listen(limit: Duration, heartbeats: Heartbeats) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let of_runtime = runtime.enter();
        let both =
            Both { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? };
        drop(of_runtime);
        let (sender, received) = unbounded_channel();
        let stopping = CancellationToken::new();
        let watched = watch(both, sender, stopping.clone(), limit, heartbeats);
        thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
            runtime.block_on(watched);
            end();
        })?;
        Ok(Self { received, stopping })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        // Only the end of the process ends the sender.
        let _ = self.received.recv().await;
    }

    /// Tells the watchdog that the shutdown has begun without a signal.
    pub(crate) fn stopping(&self) {
        self.stopping.cancel();
    }
}

/// Returns when the process has to be ended.
async fn watch(
    mut signals: Both,
    received: UnboundedSender<()>,
    stopping: CancellationToken,
    limit: Duration,
    heartbeats: Heartbeats,
) {
    // The times of standing parts count from a look at them.
    let mut looks = interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            () = signals.next() => {
                let _ = received.send(());
                break;
            }
            () = stopping.cancelled() => break,
            _ = looks.tick() => drop(heartbeats.standing_still(STANDSTILL)),
        }
    }
    tokio::select! {
        () = signals.next() => {
            let _ = received.send(());
            sleep(AT_ONCE).await;
        }
        () = sleep(limit) => {}
    }
}

/// Ends the process although its threads stand still. Neither the log nor a hook of `exit` can delay it.
fn end() {
    let last_line = || tracing::error!("the watchdog ends the process: its shutdown takes too long");
    let _ = thread::Builder::new().spawn(last_line);
    thread::sleep(LAST_LINE);
    signal_hook::low_level::exit(ENDED_BY_WATCHDOG)
}

struct Both {
    terminate: Signal,
    interrupt: Signal,
}

impl Both {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
