//! Starts the log and the traces. The log goes to stderr, because stdout is for the output of commands.
//!
//! A thread of its own writes the lines, so that no other thread waits for the reader of the log. Lines that find too many others
//! waiting are dropped and counted.

use std::io::{self, IsTerminal};
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use database::is_without_parameters;
use traces::Exporter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::prelude::*;

use crate::config::{Log, LogFormat};

/// So many lines wait for the writer, some megabytes at most.
const WAITING_LINES: usize = 5_000;

/// The longest time that the end of the process waits for the last lines.
const LAST_LINES: Duration = Duration::from_millis(1200);

/// The log belongs to the whole process, and so does this counter.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Returns the number of lines that were dropped.
pub(crate) fn dropped_lines() -> u64 {
    DROPPED.get().map_or(0, |counter| counter.dropped_lines().try_into().unwrap_or(u64::MAX))
}

/// Lets the writer end. Dropping it writes the lines that wait, unless nothing reads them.
#[must_use]
pub(crate) struct LogWriter(Option<WorkerGuard>);

impl Drop for LogWriter {
    fn drop(&mut self) {
        let (guard, (done, written)) = (self.0.take(), channel::<()>());
        // On a thread of its own, because the guard prints to stdout if nothing reads stderr, and both may be one pipe.
        let _ = thread::Builder::new().spawn(move || drop((guard, done)));
        let _ = written.recv_timeout(LAST_LINES);
    }
}

/// Starts the log and the traces for the rest of the process. Panics are logged, too.
pub(crate) fn start(log: Log, traces: Option<&Exporter>) -> LogWriter {
    let writer =
        NonBlockingBuilder::default().lossy(true).buffered_lines_limit(WAITING_LINES).thread_name("log");
    let (lines, guard) = writer.finish(io::stderr());
    DROPPED.get_or_init(|| lines.error_counter());
    let layer = tracing_subscriber::fmt::layer().with_writer(lines);
    let lines = match log.format {
        LogFormat::Pretty => layer.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // The log's filter does not concern the traces.
    tracing_subscriber::registry()
        .with(lines.with_filter(log.filter))
        .with(traces.map(Exporter::layer))
        .with(filter_fn(is_without_parameters))
        .init();
    std::panic::set_hook(Box::new(|panic| {
        // Because the default hook prints plain lines, a JSON log would break.
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panicked: {}", panic.payload_as_str().unwrap_or("without a message"));
    }));
    LogWriter(Some(guard))
}
