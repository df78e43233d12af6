//! Log lines: to stderr, because stdout belongs to what commands print.

use std::io::{self, IsTerminal};

use crate::config::{Log, LogFormat};

/// Starts logging, for the rest of the process.
pub(crate) fn start(log: Log) {
    let lines = tracing_subscriber::fmt().with_env_filter(log.filter).with_writer(io::stderr);
    match log.format {
        LogFormat::Pretty => lines.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        // The default hook writes lines that no machine reads, and that a log pipeline tears apart.
        let at = panic.location().map(ToString::to_string);
        tracing::error!(at, "panicked: {}", panic.payload_as_str().unwrap_or("without a message"));
    }));
}
